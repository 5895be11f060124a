//! Conversations that are handed from agent to agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::agent::{
    Agent, AgentBuilder, BuildAgentError, Checked, EventKind, Handoff, Paused, RunErrorKind,
    RunOutcome, StopReason, Verdict,
};
use toolbox::context::{ApprovalRequest, Decision, Principal, Taint};
use toolbox::model::{History, Message, ModelRequest, Reply, Step, ToolChoice};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, ToolResult};

use super::Log;
use crate::bounded::tokio;
use support::says;
use support::{counted, offers};

fn transfers() -> ScriptedModel {
    ScriptedModel::new().calls("transfer_to_clerk", "{}")
}

fn clerk(model: &ScriptedModel) -> AgentBuilder {
    Agent::builder(model.clone()).name("clerk").system("You are the clerk.")
}

fn triage(model: &ScriptedModel, to: impl Into<Handoff>) -> AgentBuilder {
    Agent::builder(model.clone()).name("triage").system("You sort.").handoff(to)
}

/// What each result of a transcript says, by its tool.
fn results(history: &History) -> Vec<(String, String)> {
    let calls = history.steps().flat_map(Step::calls);
    calls.map(|(call, result)| (call.name.clone(), result.text().into_owned())).collect()
}

fn shape(request: &ModelRequest) -> Vec<&'static str> {
    let messages = request.history.messages().iter();
    messages
        .map(|message| if matches!(message, Message::User(_)) { "user" } else { "step" })
        .collect()
}

fn ended(outcome: &RunOutcome) -> (&str, &str, StopReason) {
    (outcome.agent.as_str(), outcome.content.as_str(), outcome.reason)
}

#[tokio::test]
async fn the_next_agent_goes_on_with_its_own_settings_and_the_transcript() {
    let below = ScriptedModel::new().calls("stamp", "{}").text("stamped");
    let next = clerk(&below)
        .tools(says("stamp", "ok"))
        .option("temperature", 0.1)
        .tool_choice(ToolChoice::Required)
        .parallel_tools(false)
        .build()
        .unwrap();
    let above = transfers();
    let log = Log::default();
    let agent = triage(&above, Handoff::to(&next).described("For stamps.")).build().unwrap();
    let outcome = agent.run("Stamp it").on_event(log.listener()).await.unwrap();
    assert_eq!(ended(&outcome), ("clerk", "stamped", StopReason::Answered));
    assert_eq!((outcome.iterations, outcome.usage.total_tokens()), (3, 45));
    assert_eq!(offers(&above), [["transfer_to_clerk"]]);
    let tool = &above.requests()[0].tools[0];
    assert_eq!(tool.description, "Hands the conversation to `clerk`, for good. For stamps.");
    let first = &below.requests()[0];
    assert_eq!(first.system.as_deref(), Some("You are the clerk."));
    assert_eq!((first.tools.len(), &first.tool_choice), (1, &ToolChoice::Required));
    assert_eq!((shape(first), first.parallel_tool_calls), (vec!["user", "step"], false));
    assert_eq!(first.options["temperature"], 0.1);
    assert_eq!(
        results(&outcome.history),
        [
            ("transfer_to_clerk".to_owned(), "The conversation was handed over.".to_owned()),
            ("stamp".to_owned(), "ok".to_owned())
        ]
    );
    let events: Vec<_> = log.events().iter().map(|e| (e.path.join("/"), e.step)).collect();
    assert!(
        events.contains(&("triage".to_owned(), 1)) && events.contains(&("clerk".to_owned(), 2))
    );
    let handed = EventKind::HandedOver { to: "clerk".to_owned() };
    assert!(log.events().iter().any(|event| event.kind == handed && *event.path == ["triage"]));
    assert_eq!(
        log.events().iter().filter(|e| matches!(e.kind, EventKind::Finished { .. })).count(),
        1
    );
}

#[tokio::test]
async fn the_transcript_goes_along_whole_edited_or_not_at_all() {
    type Change = fn(Handoff) -> Handoff;
    let cases: [(Change, &str, &[&str], &str); 3] = [
        (|handoff| handoff, "{}", &["user", "step"], "What is it?"),
        (
            |handoff| handoff.edit_history(|_| History::from("in short")),
            "{}",
            &["user"],
            "in short",
        ),
        (|handoff| handoff.without_history(), r#"{"task":"count"}"#, &["user"], "count"),
    ];
    for (change, arguments, expected, asked) in cases {
        let below = ScriptedModel::answering("ok");
        let next = clerk(&below).build().unwrap();
        let above = ScriptedModel::new().calls("transfer_to_clerk", arguments);
        let agent = triage(&above, change(Handoff::to(&next))).build().unwrap();
        let outcome = agent.run("What is it?").await.unwrap();
        let request = &below.requests()[0];
        assert_eq!(shape(request), expected);
        assert_eq!(request.history.last_user_text().unwrap(), asked);
        assert_eq!(outcome.history.len(), expected.len() + 1);
    }
    // Arguments that do not fit are refused, and the conversation stays.
    let next = clerk(&ScriptedModel::answering("never")).build().unwrap();
    let above = transfers().text("stayed");
    let agent = triage(&above, Handoff::to(&next).without_history()).build().unwrap();
    assert_eq!(ended(&agent.run("x").await.unwrap()), ("triage", "stayed", StopReason::Answered));
}

#[tokio::test]
async fn each_call_beside_a_handoff_has_its_result() {
    let other = Agent::builder(ScriptedModel::answering("of the other")).name("other");
    let other = other.build().unwrap();
    let calls: [&[&str]; 4] = [
        &["count", "transfer_to_clerk"],
        &["transfer_to_clerk", "count"],
        &["count", "transfer_to_clerk", "transfer_to_other", "missing", "count_too"],
        &["transfer_to_clerk", "transfer_to_clerk"],
    ];
    for names in calls {
        for parallel in [true, false] {
            let runs = Arc::new(AtomicUsize::new(0));
            let below = ScriptedModel::answering("of the clerk");
            let next = clerk(&below).build().unwrap();
            let above = ScriptedModel::new().calls_all(names.iter().map(|name| (*name, "{}")));
            let agent = triage(&above, &next)
                .handoff(&other)
                .tools(vec![counted("count", &runs), counted("count_too", &runs)])
                .parallel_tools(parallel)
                .build()
                .unwrap();
            let outcome = agent.run("x").await.unwrap();
            assert_eq!(ended(&outcome), ("clerk", "of the clerk", StopReason::Answered));
            let counting = names.iter().filter(|name| name.starts_with("count")).count();
            assert_eq!(runs.load(SeqCst), counting);
            let seen = results(&below.requests()[0].history);
            assert_eq!(seen.len(), names.len());
            let handed =
                |(_, text): &&(String, String)| text == "The conversation was handed over.";
            assert_eq!(seen.iter().filter(handed).count(), 1);
            for (name, text) in seen.iter().skip(1).filter(|(name, _)| name == "transfer_to_other")
            {
                assert_eq!(
                    text, "not run: another call of the same reply hands the conversation over",
                    "{name}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_handoff_that_is_refused_leaves_the_conversation() {
    type Build = fn(AgentBuilder) -> AgentBuilder;
    let denies = |_: ApprovalRequest| async { Decision::Deny("not today".to_owned()) };
    let builds: [(Build, &str); 4] = [
        (|builder| builder.blacklist_tool("transfer_*"), "may not be called"),
        (|builder| builder.blacklist_tool("TRANSFER_TO_CLERK"), "may not be called"),
        (|builder| builder.max_handoffs(0), "handed over as often as it may be"),
        (|builder| builder.max_total_calls(0), "has spent the calls"),
    ];
    let next = || clerk(&ScriptedModel::answering("never")).build().unwrap();
    for (build, expected) in builds {
        let above = transfers().text("stayed");
        let outcome = build(triage(&above, next())).build().unwrap().run("x").await.unwrap();
        assert_eq!(outcome.agent, "triage");
        let text = results(&outcome.history).remove(0).1;
        assert!(text.contains(expected), "{text}");
    }
    // By the context, by the box, by an approver.
    let tool = || Handoff::to(&next()).into_tool().unwrap();
    let toolbox = |tool: Tool| ToolBox::builder().tools(tool).approver(denies).build().unwrap();
    let forbidden = ToolContext::new().with_blacklist("transfer_to_clerk");
    let blacklisting = toolbox(tool());
    blacklisting.blacklist("transfer_to_clerk");
    for (toolbox, context) in [
        (toolbox(tool()), forbidden),
        (blacklisting, ToolContext::new()),
        (toolbox(tool().needs_approval()), ToolContext::new()),
    ] {
        let model = transfers().text("stayed");
        let agent = Agent::builder(model).name("triage").toolbox(toolbox).build().unwrap();
        let outcome = agent.run("x").in_context(context).await.unwrap();
        assert_eq!(ended(&outcome), ("triage", "stayed", StopReason::Answered));
    }
}

#[tokio::test]
async fn of_two_handoffs_the_one_that_is_allowed_is_made() {
    for forbidden in ["transfer_to_clerk", "transfer_to_other"] {
        let other = Agent::builder(ScriptedModel::answering("of the other")).name("other");
        let next = clerk(&ScriptedModel::answering("of the clerk")).build().unwrap();
        let above = ScriptedModel::new()
            .calls_all([("transfer_to_clerk", "{}"), ("transfer_to_other", "{}")]);
        let agent = triage(&above, &next)
            .handoff(other.build().unwrap())
            .blacklist_tool(forbidden)
            .build()
            .unwrap();
        let last = if forbidden.ends_with("clerk") { "other" } else { "clerk" };
        assert_eq!(agent.run("x").await.unwrap().agent, last);
    }
}

#[tokio::test]
async fn what_was_forbidden_stays_so_and_limits_hold_together() {
    let runs = Arc::new(AtomicUsize::new(0));
    let pays = || ScriptedModel::new().calls("pay", "{}").text("done");
    let next = |model: &ScriptedModel| clerk(model).tools(counted("pay", &runs)).build().unwrap();
    // Forbidden by the first agent, by its box, by the context.
    let by_agent = triage(&transfers(), next(&pays())).blacklist_tool("pay");
    let by_box = triage(&transfers(), next(&pays()));
    let toolbox = ToolBox::new();
    toolbox.blacklist("pay");
    let by_context = triage(&transfers(), next(&pays()));
    for (builder, context) in [
        (by_agent, ToolContext::new()),
        (by_box.toolbox(toolbox), ToolContext::new()),
        (by_context, ToolContext::new().with_blacklist("pay")),
    ] {
        let outcome = builder.build().unwrap().run("x").in_context(context).await.unwrap();
        assert_eq!((outcome.agent.as_str(), runs.load(SeqCst)), ("clerk", 0));
    }
    // Calls: of the first for the whole run, of the second for its part.
    let forever = ScriptedModel::new().calls("pay", "{}").forever();
    for (first, second, count) in [(3, 100, 2), (100, 3, 3)] {
        runs.store(0, SeqCst);
        let next =
            clerk(&forever).tools(counted("pay", &runs)).max_total_calls(second).build().unwrap();
        let agent = triage(&transfers(), &next).max_total_calls(first).build().unwrap();
        assert_eq!(agent.run("x").await.unwrap().reason, StopReason::Budget);
        assert_eq!(runs.load(SeqCst), count);
    }
    // Iterations are each agent's own.
    let next = clerk(&forever)
        .tools(counted("pay", &runs))
        .no_repeat_limit()
        .max_iterations(4)
        .build()
        .unwrap();
    let agent = triage(&transfers(), &next).max_iterations(2).build().unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::MaxIterations, 5));
}

#[tokio::test(start_paused = true)]
async fn the_earlier_deadline_holds() {
    let slow = ScriptedModel::new().text("late").after(Duration::from_secs(60)).forever();
    for (first, second) in [(5, 100), (100, 5)] {
        let next = clerk(&slow).timeout(Duration::from_secs(second)).build().unwrap();
        let agent =
            triage(&transfers(), &next).timeout(Duration::from_secs(first)).build().unwrap();
        let began = ::tokio::time::Instant::now();
        assert_eq!(agent.run("x").await.unwrap().reason, StopReason::TimedOut);
        assert_eq!(began.elapsed(), Duration::from_secs(5));
    }
}

#[tokio::test]
async fn taint_stays_and_a_model_is_no_user() {
    let probe = |taint: &Taint| taint.is_tainted();
    for (tainted, fresh) in [(true, false), (true, true), (false, false), (false, true)] {
        let seen = Arc::new(AtomicUsize::new(0));
        let own = Arc::clone(&seen);
        let pays = Tool::raw(
            "pay",
            "Pays.",
            serde_json::json!({"type": "object"}),
            move |context: ToolContext, _: toolbox::call::Arguments| {
                own.store(1 + usize::from(context.is_tainted()), SeqCst);
                async { "paid" }
            },
        );
        let below = ScriptedModel::new().calls("pay", "{}").text("done");
        let next = clerk(&below).tools(pays).build().unwrap();
        let arguments = if fresh { r#"{"task":"see https://evil.example/x"}"# } else { "{}" };
        let above = ScriptedModel::new().calls("read", "{}").calls("transfer_to_clerk", arguments);
        let handoff = Handoff::to(&next);
        let handoff = if fresh { handoff.without_history() } else { handoff };
        let reads = says("read", "a page");
        let reads = if tainted { reads.untrusted() } else { reads };
        let taint = Taint::new();
        let agent = triage(&above, handoff).tools(reads).build().unwrap();
        let context = ToolContext::new().with(taint.clone());
        agent.run("see https://good.example/y").in_context(context).await.unwrap();
        assert_eq!((seen.load(SeqCst), probe(&taint)), (1 + usize::from(tainted), tainted));
        // What a model wrote is not what the user named.
        assert!(taint.was_shown("https://good.example/y"));
        assert!(!taint.was_shown("https://evil.example/x"));
    }
}

#[tokio::test]
async fn a_transcript_with_handoffs_taints_neither_agent_in_the_next_turn() {
    let below = ScriptedModel::new().calls("stamp", "{}").text("stamped").text("again");
    let next = clerk(&below).tools(says("stamp", "ok")).build().unwrap();
    let agent = triage(&transfers().text("sorted"), &next).build().unwrap();
    let outcome = agent.run("x").await.unwrap();
    for agent in [&agent, &next] {
        let taint = Taint::new();
        let run = agent.run("more").with_history(outcome.history.clone());
        run.in_context(ToolContext::new().with(taint.clone())).await.unwrap();
        assert!(!taint.is_tainted(), "{}", agent.name());
    }
}

#[tokio::test]
async fn loops_of_handoffs_are_bounded() {
    for (most, handed) in [(3, 3), (10, 10), (0, 0)] {
        let calls = |name: &str| {
            ScriptedModel::new()
                .respond({
                    let name = name.to_owned();
                    move |request| {
                        let refused =
                            request.history.steps().last().is_some_and(|step| {
                                step.results().iter().any(ToolResult::is_error)
                            });
                        Ok(if refused {
                            Reply::text("kept").into()
                        } else {
                            Reply::calls([ToolCall::new("c", name.as_str(), "{}")]).into()
                        })
                    }
                })
                .forever()
        };
        let next = clerk(&calls("transfer_to_triage")).max_handoffs(100).build().unwrap();
        let agent = triage(&calls("transfer_to_clerk"), &next).max_handoffs(most).build().unwrap();
        next.toolbox().register(Handoff::to(&agent).into_tool().unwrap());
        let outcome = agent.run("x").await.unwrap();
        let last = if handed % 2 == 0 { "triage" } else { "clerk" };
        assert_eq!(ended(&outcome), (last, "kept", StopReason::Answered));
        assert_eq!(outcome.iterations, handed + 2);
    }
}

#[tokio::test]
async fn only_the_model_of_a_run_hands_over() {
    let next = clerk(&ScriptedModel::answering("never")).build().unwrap();
    let tool = Handoff::to(&next).into_tool().unwrap();
    let toolbox = ToolBox::from(tool.clone());
    let outside = toolbox.call(ToolCall::new("c", "transfer_to_clerk", "{}")).await;
    assert_eq!(outside.code(), Some("run.too_deep"));
    // A tool that makes the call itself.
    let own = toolbox.clone();
    let sneaks = Tool::raw(
        "sneak",
        "Sneaks.",
        serde_json::json!({"type": "object"}),
        move |context: ToolContext, _: toolbox::call::Arguments| {
            let own = own.clone();
            async move {
                let call = ToolCall::new("n", "transfer_to_clerk", "{}");
                own.call_in(&context, call).await.text().into_owned()
            }
        },
    );
    let model = ScriptedModel::new().calls("sneak", "{}").text("stayed");
    let agent = triage(&model, &next).tools(sneaks).build().unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(ended(&outcome), ("triage", "stayed", StopReason::Answered));
    assert!(results(&outcome.history)[0].1.contains("only the model of an agent hands over"));
    // An agent below that inherits the tools above has no handoffs of theirs.
    let model = ScriptedModel::new().calls("transfer_to_clerk", "{}").text("tried");
    let heir = Agent::builder(model.clone()).inherit_tools().build().unwrap();
    let above = ScriptedModel::new().calls("heir", r#"{"task":"go"}"#).text("stayed");
    let agent =
        triage(&above, &next).add_subagent(heir.as_tool("heir", "Inherits.")).build().unwrap();
    assert_eq!(agent.run("x").await.unwrap().agent, "triage");
    assert!(model.requests()[0].tools.is_empty());
}

#[tokio::test]
async fn a_handoff_that_is_found_by_a_search_is_made_through_the_gateway() {
    for fresh in [true, false] {
        let below = ScriptedModel::answering("of the clerk");
        let next = clerk(&below).build().unwrap();
        let handoff = Handoff::to(&next);
        let handoff = if fresh { handoff.without_history() } else { handoff };
        let toolbox = ToolBox::from(handoff.into_tool().unwrap().deferred());
        toolbox.register(toolbox::search::Gateway::over(&toolbox));
        let arguments = if fresh { r#"{"task":"count"}"# } else { "{}" };
        let call = format!(r#"{{"name":"transfer_to_clerk","arguments":{arguments}}}"#);
        let above = ScriptedModel::new().calls("toolbox_execute", call);
        let agent = Agent::builder(above).name("triage").toolbox(toolbox).build().unwrap();
        let outcome = agent.run("x").await.unwrap();
        assert_eq!(ended(&outcome), ("clerk", "of the clerk", StopReason::Answered));
        let asked = if fresh { "count" } else { "x" };
        assert_eq!(below.requests()[0].history.last_user_text().unwrap(), asked);
    }
}

#[tokio::test]
async fn the_depth_of_the_next_agent_holds() {
    for (depth, last) in [(1, "clerk"), (0, "triage")] {
        let next = clerk(&ScriptedModel::answering("ok")).max_depth(depth).build().unwrap();
        let agent = triage(&transfers().text("stayed"), &next).build().unwrap();
        assert_eq!(agent.run("x").await.unwrap().agent, last);
    }
}

#[tokio::test]
async fn an_agent_at_work_above_is_not_handed_to() {
    // `clerk` calls `triage` as a tool, which would hand back to `clerk`.
    let toolbox = ToolBox::new();
    let above = ScriptedModel::new().calls("sort", r#"{"task":"go"}"#).text("done");
    let next = clerk(&above).toolbox(toolbox.clone()).build().unwrap();
    let model = transfers().text("stayed");
    let agent = triage(&model, &next).build().unwrap();
    toolbox.register(agent.as_tool("sort", "Sorts."));
    let outcome = next.run("x").await.unwrap();
    assert_eq!(outcome.content, "done");
    assert_eq!(results(&outcome.history)[0].1, "stayed");
    let refused = &results(&model.requests()[1].history)[0].1;
    assert!(refused.contains("at work above"), "{refused}");
}

#[test]
fn names_of_handoffs_are_names_of_tools_and_clash_with_none() {
    let model = ScriptedModel::answering("ok");
    let next = clerk(&model).build().unwrap();
    let spaced = Agent::builder(model.clone()).name("Über the moon").build().unwrap();
    let agent = Agent::builder(model.clone())
        .handoff(&spaced)
        .handoff(Handoff::to(&next).named("escalate"))
        .build()
        .unwrap();
    assert!(agent.toolbox().has("transfer_to__ber_the_moon") && agent.toolbox().has("escalate"));
    let clashes = [
        Agent::builder(model.clone()).tools(says("transfer_to_clerk", "x")).handoff(&next).build(),
        Agent::builder(model.clone()).handoff(&next).handoff(&next).build(),
        Agent::builder(model.clone())
            .toolbox(ToolBox::from(says("transfer_to_clerk", "x")))
            .handoff(&next)
            .build(),
    ];
    for built in clashes {
        assert!(matches!(built.unwrap_err(), BuildAgentError::Tools(_)));
    }
    let built = Agent::builder(model).handoff(Handoff::to(&next).named("no good")).build();
    assert!(matches!(built.unwrap_err(), BuildAgentError::ToolName(_)));
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct City {
    name: String,
}

#[tokio::test]
async fn the_last_agent_gives_the_answer_that_the_run_was_asked_for() {
    let below = ScriptedModel::new().calls("final_answer", r#"{"name":"Rome"}"#);
    let next = clerk(&below).build().unwrap();
    // An answer beside the handoff is not taken.
    let above = ScriptedModel::new()
        .calls_all([("final_answer", r#"{"name":"Bonn"}"#), ("transfer_to_clerk", "{}")]);
    let agent = triage(&above, &next).build().unwrap();
    let outcome = agent.run("x").answering_with::<City>().await.unwrap();
    assert_eq!(outcome.answer_as::<City>().unwrap().name, "Rome");
    let refused = &results(&below.requests()[0].history)[0].1;
    assert_eq!(refused, "not taken: a call beside it hands the conversation over");
}

#[tokio::test]
async fn guards_of_each_agent_hold() {
    let guard = |word: &'static str| {
        move |checked: &Checked| Verdict::block_if(checked.text().contains(word), word)
    };
    // Words in the input and in the answer; the guard that blocks.
    let cases = [
        ("in-1", "", Some("in-1"), StopReason::InputBlocked),
        ("in-2", "", Some("in-2"), StopReason::InputBlocked),
        ("", "out-1", Some("out-1"), StopReason::OutputBlocked),
        ("", "out-2", Some("out-2"), StopReason::OutputBlocked),
        ("", "", None, StopReason::Answered),
    ];
    for (input, answer, expected, reason) in cases {
        let below = ScriptedModel::answering(format!("an answer {answer}"));
        let next = clerk(&below).guard_input(guard("in-2")).guard_output(guard("out-2"));
        let next = next.build().unwrap();
        let agent = triage(&transfers(), &next)
            .guard_input(guard("in-1"))
            .guard_output(guard("out-1"))
            .build()
            .unwrap();
        let outcome = agent.run(format!("a question {input}")).await.unwrap();
        assert_eq!((outcome.reason, outcome.blocked.as_deref()), (reason, expected));
    }
}

#[tokio::test]
async fn a_run_that_pauses_after_a_handoff_resumes_from_its_first_agent() {
    let runs = Arc::new(AtomicUsize::new(0));
    let build = |above: &ScriptedModel, below: &ScriptedModel| {
        let next = clerk(below)
            .tools(counted("pay", &runs).needs_approval())
            .max_iterations(3)
            .max_total_calls(2)
            .build()
            .unwrap();
        triage(above, &next).build().unwrap()
    };
    let below = ScriptedModel::new().calls("pay", "{}");
    let outcome = build(&transfers(), &below).run("x").await.unwrap();
    assert_eq!(ended(&outcome), ("clerk", "", StopReason::ApprovalNeeded));
    let text = serde_json::to_string(&outcome.paused.unwrap()).unwrap();
    let paused: Paused = serde_json::from_str(&text).unwrap();
    assert_eq!((paused.agent(), paused.pending()[0].tool.as_str()), ("triage", "pay"));
    let approve = |paused: &Paused| {
        let ids = paused.pending().into_iter().map(|call| call.id);
        ids.map(|id| (id, Decision::Approve)).collect::<Vec<_>>()
    };
    // In another process: both agents are built anew.
    let taint = Taint::new();
    let below = ScriptedModel::new().text("paid");
    let agent = build(&ScriptedModel::new(), &below);
    let run = agent.resume(paused.clone(), approve(&paused));
    let outcome = run.in_context(ToolContext::new().with(taint.clone())).await.unwrap();
    assert_eq!(ended(&outcome), ("clerk", "paid", StopReason::Answered));
    assert_eq!((runs.load(SeqCst), outcome.iterations), (1, 3));
    assert_eq!(below.requests()[0].system.as_deref(), Some("You are the clerk."));
    assert!(!taint.is_tainted());
    // What each agent has left is as it was: one more call, and two more requests.
    let below = ScriptedModel::new().calls("other", "{}").calls("other", r#"{"a":1}"#).forever();
    let outcome = build(&ScriptedModel::new(), &below)
        .resume(paused.clone(), approve(&paused))
        .await
        .unwrap();
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::Budget, 4));
    // An agent that has lost the handoff, or of another principal, does not resume it.
    let lost = Agent::builder(ScriptedModel::new()).name("triage").build().unwrap();
    let error = lost.resume(paused.clone(), approve(&paused)).await.unwrap_err();
    assert!(matches!(error.kind, RunErrorKind::MissingHandoff { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "the paused run was handed over by `transfer_to_clerk`, which the agent has no more"
    );
    let other = ToolContext::new().with(Principal::new("eve"));
    let error = build(&ScriptedModel::new(), &below)
        .resume(paused.clone(), approve(&paused))
        .in_context(other)
        .await
        .unwrap_err();
    assert!(matches!(error.kind, RunErrorKind::ForeignPause { .. }));
}

#[tokio::test]
async fn a_model_is_no_user_after_a_pause_either() {
    for fresh in [true, false] {
        let build = |below: ScriptedModel| {
            let stamp = says("stamp", "ok").needs_approval();
            let next = clerk(&below).tools(stamp).build().unwrap();
            let arguments = r#"{"task":"see https://evil.example/x"}"#;
            let above = ScriptedModel::new();
            if fresh {
                let above = above.calls("transfer_to_clerk", arguments);
                triage(&above, Handoff::to(&next).without_history()).build().unwrap()
            } else {
                triage(&above.calls("transfer_to_clerk", "{}"), &next).build().unwrap()
            }
        };
        let first = build(ScriptedModel::new().calls("stamp", "{}"));
        let paused = first.run("see https://good.example/y").await.unwrap().paused.unwrap();
        let taint = Taint::new();
        let id = paused.pending()[0].id.clone();
        build(ScriptedModel::answering("done"))
            .resume(paused, [(id, Decision::Approve)])
            .in_context(ToolContext::new().with(taint.clone()))
            .await
            .unwrap();
        assert!(!taint.was_shown("https://evil.example/x"));
        assert_eq!(taint.was_shown("https://good.example/y"), !fresh);
    }
}

#[tokio::test]
async fn a_handoff_waits_with_the_calls_beside_it() {
    // A call beside it needs approval, or the handoff itself does.
    for waits in ["pay", "transfer_to_clerk"] {
        let below = ScriptedModel::answering("of the clerk");
        let next = clerk(&below).build().unwrap();
        let approved = |tool: Tool| if tool.name() == waits { tool.needs_approval() } else { tool };
        let above = ScriptedModel::new()
            .calls_all([("pay", "{}"), ("transfer_to_clerk", "{}")])
            .text("stayed");
        let agent = Agent::builder(above)
            .name("triage")
            .tools(vec![
                approved(says("pay", "paid")),
                approved(Handoff::to(&next).into_tool().unwrap()),
            ])
            .build()
            .unwrap();
        let outcome = agent.run("x").await.unwrap();
        assert_eq!((outcome.agent.as_str(), below.requests().len()), ("triage", 0));
        let paused = outcome.paused.unwrap();
        let id = paused.pending()[0].id.clone();
        let outcome =
            agent.resume(paused.clone(), [(id.clone(), Decision::Approve)]).await.unwrap();
        assert_eq!(ended(&outcome), ("clerk", "of the clerk", StopReason::Answered), "{waits}");
        assert_eq!(results(&below.requests()[0].history).len(), 2);
        let outcome = agent.resume(paused, [(id, Decision::Deny("no".to_owned()))]).await.unwrap();
        let last = if waits == "pay" { "clerk" } else { "triage" };
        assert_eq!(outcome.agent, last, "{waits}");
    }
}

#[tokio::test]
async fn jobs_of_an_agent_report_to_the_next() {
    let below = ScriptedModel::new().text("waits").text("done");
    let next = clerk(&below).build().unwrap();
    let job = Tool::raw(
        "job",
        "Works.",
        serde_json::json!({"type": "object"}),
        |_: toolbox::call::Arguments| async {
            ::tokio::task::yield_now().await;
            "the job is done"
        },
    );
    let above = ScriptedModel::new().calls_all([("job", "{}"), ("transfer_to_clerk", "{}")]);
    let agent = triage(&above, &next).tools(job.background()).build().unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(outcome.agent, "clerk");
    let texts: Vec<_> = below
        .requests()
        .iter()
        .map(|request| request.history.last_user_text().unwrap().into_owned())
        .collect();
    assert!(texts.last().unwrap().contains("the job is done"), "{texts:?}");
}

#[tokio::test]
async fn an_agent_as_a_tool_may_hand_over_below() {
    let next = clerk(&ScriptedModel::answering("of the clerk")).build().unwrap();
    let below = triage(&transfers(), &next).build().unwrap();
    let model = ScriptedModel::new().calls("sort", r#"{"task":"go"}"#).text("done");
    let log = Log::default();
    let boss = Agent::builder(model).name("boss").add_subagent(below.as_tool("sort", "Sorts."));
    let outcome = boss.build().unwrap().run("x").on_event(log.listener()).await.unwrap();
    assert_eq!(ended(&outcome), ("boss", "done", StopReason::Answered));
    assert_eq!(results(&outcome.history)[0].1, "of the clerk");
    assert_eq!(outcome.usage.total_tokens(), 60);
    assert!(log.events().iter().any(|event| *event.path == ["boss", "clerk"]));
}

#[test]
fn an_agent_as_a_tool_repeats_what_those_repeat_that_it_hands_to() {
    let model = || ScriptedModel::answering("ok");
    let reader = |tool: Tool| Agent::builder(model()).name("reader").tools(tool).build().unwrap();
    let page = || says("page", "a page");
    let heir = Agent::builder(model()).name("reader").inherit_tools().build().unwrap();
    let cases = [(reader(page()), false), (reader(page().untrusted()), true), (heir, true)];
    for (reader, expected) in cases {
        // One agent between them, and a way back.
        let next = clerk(&model()).handoff(&reader).build().unwrap();
        let agent = triage(&model(), &next).build().unwrap();
        next.toolbox().register(Handoff::to(&agent).into_tool().unwrap());
        assert_eq!(agent.as_tool("sort", "Sorts.").is_untrusted(), expected);
        let handoff = agent.toolbox().get("transfer_to_clerk").unwrap();
        assert!(!handoff.is_untrusted(), "its own result is no text of others");
    }
}

#[tokio::test]
async fn a_run_below_that_was_handed_over_pauses_with_the_run_above() {
    let build = |[boss, above, below]: [ScriptedModel; 3]| {
        let next = clerk(&below).tools(says("pay", "paid").needs_approval()).build().unwrap();
        let sorts = triage(&above, &next).build().unwrap().as_tool("sort", "Sorts.");
        Agent::builder(boss).name("boss").add_subagent(sorts).build().unwrap()
    };
    let boss = ScriptedModel::new().calls("sort", r#"{"task":"go"}"#);
    let first = build([boss, transfers(), ScriptedModel::new().calls("pay", "{}")]);
    let paused = first.run("x").await.unwrap().paused.unwrap();
    let text = serde_json::to_string(&paused).unwrap();
    let paused: Paused = serde_json::from_str(&text).unwrap();
    let pending = paused.pending();
    assert_eq!(
        (pending[0].tool.as_str(), pending[0].path.as_slice()),
        ("pay", &["sort".to_owned()][..])
    );
    let rest = [
        ScriptedModel::answering("done"),
        ScriptedModel::new(),
        ScriptedModel::answering("it is paid"),
    ];
    let run = build(rest).resume(paused, [(pending[0].id.clone(), Decision::Approve)]);
    let outcome = run.await.unwrap();
    assert_eq!(ended(&outcome), ("boss", "done", StopReason::Answered));
    assert_eq!(results(&outcome.history)[0].1, "it is paid");
}

/// A handoff whose tool had another name is that handoff by either, and a rule on either forbids
/// both.
#[tokio::test]
async fn a_handoff_is_made_and_forbidden_by_its_old_name_as_well() {
    const OLD: &str = "ask_clerk";
    let tool = |name: &str, answer: &str| {
        let next = Agent::builder(ScriptedModel::answering(answer)).name(name).build().unwrap();
        Handoff::to(&next).into_tool().unwrap()
    };
    for called in [OLD, "transfer_to_clerk"] {
        for (rule, by_context) in
            [(None, false), (Some(OLD), false), (Some(OLD), true), (Some("ask_*"), true)]
        {
            for beside in [false, true] {
                let both = [(called, "{}"), ("transfer_to_other", "{}")];
                let calls = if beside { &both[..] } else { &both[..1] };
                let model = ScriptedModel::new().calls_all(calls.iter().copied()).text("stayed");
                let toolbox = ToolBox::from(vec![
                    tool("clerk", "of the clerk").replaces([OLD]),
                    tool("other", "of the other"),
                ]);
                let mut context = ToolContext::new();
                match rule {
                    Some(rule) if by_context => context = context.with_blacklist(rule),
                    Some(rule) => toolbox.blacklist(rule),
                    None => {}
                }
                let agent = Agent::builder(model).name("triage").toolbox(toolbox).build().unwrap();
                let outcome = agent.run("x").in_context(context).await.unwrap();
                let expected = match (rule, beside) {
                    (None, _) => ("clerk", "of the clerk", StopReason::Answered),
                    (Some(_), true) => ("other", "of the other", StopReason::Answered),
                    (Some(_), false) => ("triage", "stayed", StopReason::Answered),
                };
                assert_eq!(ended(&outcome), expected, "{called} {rule:?} {by_context} {beside}");
            }
        }
    }
}
