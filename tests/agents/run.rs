//! The loop: how it starts, goes on and ends, and what it leaves behind.

use crate::bounded::tokio;
use std::collections::HashMap;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use serde_json::{Value, json};
use toolbox::agent::{
    Agent, AgentBuilder, BuildAgentError, EventKind, InfrastructurePolicy, MaxIterations,
    RunErrorKind, StopReason,
};
use toolbox::context::{CancellationToken, Conversation};
use toolbox::model::{
    Finish, History, Model, ModelErrorKind, ModelRequest, Part, Replied, Reply, ToolChoice,
};
use toolbox::testing::{ScriptedModel, check};
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, ToolError, tool, tools};

use super::Log;
use support::says;
use support::waits;
use support::{agent, counted, offers};

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn scripted_sum() -> ScriptedModel {
    ScriptedModel::new().calls("add", r#"{"a":2,"b":3}"#).text("It is 5.")
}

fn text(request: &ModelRequest) -> String {
    request.history.steps().last().map_or_else(String::new, |step| {
        step.results().iter().map(|result| result.text().into_owned()).collect::<Vec<_>>().join("|")
    })
}

#[tokio::test]
async fn the_agent_dispatches_calls_until_there_is_an_answer() {
    let model = scripted_sum();
    assert_eq!(model.turns_left(), 2);
    let outcome = agent(&model, tools![add]).run("2 + 3?").await.unwrap();
    assert_eq!(model.turns_left(), 0);
    check(&outcome.history).calls("add", json!({"a": 2, "b": 3})).returns("5").answers("It is 5.");
    assert_eq!(outcome.content, "It is 5.");
    assert!(outcome.is_answered());
}

#[tokio::test]
async fn the_model_is_told_of_the_tools() {
    let model = ScriptedModel::answering("ok");
    agent(&model, vec![add::tool(), says("hello", "hi")]).run("x").await.unwrap();
    let requests = model.requests();
    let definitions = &requests[0].tools;
    assert_eq!(definitions.len(), 2);
    assert_eq!(definitions[0], *add::tool().definition());
}

#[tokio::test]
async fn the_builder_of_the_specification() {
    let model = ScriptedModel::answering("done");
    let agent = AgentBuilder::new("Count to three")
        .llm(model.clone())
        .add_tool(says("one", "1"))
        .add_tool(says("two", "2"))
        .raw_tool(
            "search",
            "Search the web for current information.",
            json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}),
            Box::new(|args: &HashMap<String, Value>| {
                let query = args["query"].as_str().unwrap_or("");
                Ok::<_, String>(format!("Results for '{query}': ..."))
            }),
        )
        .parallel_tools(true)
        .build()
        .unwrap();
    assert_eq!(agent.run_task().await.unwrap().content, "done");
    assert_eq!(offers(&model), [["one", "two", "search"]]);
    assert_eq!(model.requests()[0].history.last_user_text().unwrap(), "Count to three");

    assert_eq!(AgentBuilder::new("x").build().unwrap_err(), BuildAgentError::NoModel);
    let error = AgentBuilder::new("x").llm(model.clone()).blacklist_tool("*").build().unwrap_err();
    assert!(matches!(error, BuildAgentError::Rule(_)), "{error}");
    let bad = AgentBuilder::new("x").llm(model).raw_tool(
        "no good",
        "d",
        json!({"type": "object"}),
        |_: &HashMap<String, Value>| Ok::<_, String>(String::new()),
    );
    assert!(matches!(bad.build().unwrap_err(), BuildAgentError::ToolName(_)));
}

#[tokio::test]
async fn a_model_may_be_a_trait_object() {
    let models: Vec<Box<dyn Model>> = vec![Box::new(ScriptedModel::answering("a"))];
    for model in models {
        assert_eq!(Agent::builder(model).build().unwrap().run("x").await.unwrap().content, "a");
    }
    let shared: Arc<dyn Model> = Arc::new(ScriptedModel::answering("b"));
    let outcome = AgentBuilder::new("x").llm(shared).build().unwrap().run_task().await.unwrap();
    assert_eq!(outcome.content, "b");
}

#[tokio::test]
async fn a_failure_is_an_observation_under_its_call() {
    let refuses = Tool::new("fetch", "Fetches.").call(|_| Err::<String, _>("no such page"));
    let model = ScriptedModel::new().calls("fetch", "{}").text("sorry");
    let agent =
        Agent::builder(model.clone()).tools(refuses).error_prefix("ERROR: ").build().unwrap();
    let outcome = agent.run("x").await.unwrap();
    check(&outcome.history).calls("fetch", json!({})).fails("tool.failed").answers("sorry");
    let requests = model.requests();
    let (call, result) = requests[1].history.steps().last().unwrap().calls().next().unwrap();
    assert_eq!((call.id.as_str(), result.call_id()), ("call_1", "call_1"));
    assert_eq!(result.text(), "ERROR: no such page");
}

#[tokio::test]
async fn an_answer_without_calls_ends_the_turn() {
    let model = ScriptedModel::new().text("Hello.");
    let outcome = agent(&model, tools![add]).run("Hi").await.unwrap();
    assert_eq!((outcome.content.as_str(), outcome.iterations), ("Hello.", 1));
    assert_eq!(outcome.reason, StopReason::Answered);
}

#[tokio::test]
async fn nothing_but_the_name_decides() {
    let model = ScriptedModel::new()
        .calls_all([("a", "{}"), ("b", "{}"), ("A", "{}"), ("c", "{}")])
        .text("ok");
    let outcome = agent(&model, vec![says("a", "of a"), says("b", "of b")]).run("x").await.unwrap();
    check(&outcome.history)
        .calls("a", json!({}))
        .returns("of a")
        .calls("b", json!({}))
        .returns("of b")
        .calls("A", json!({}))
        .fails("tool.not_found")
        .calls("c", json!({}))
        .fails("tool.not_found")
        .answers("ok");
}

#[tokio::test]
async fn results_stand_behind_the_reply_that_asked() {
    let model = scripted_sum().calls("add", r#"{"a":5,"b":5}"#).text("unused");
    let outcome = agent(&model, tools![add]).run("x").await.unwrap();
    let steps: Vec<_> = outcome.history.steps().collect();
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[0].reply().tool_calls().count(), 1);
    assert_eq!(steps[0].results()[0].text(), "5");
    assert_eq!(steps[1].results().len(), 0);
}

#[tokio::test]
async fn options_reach_the_model_and_tools_may_be_absent() {
    let model = ScriptedModel::answering("ok");
    let agent = Agent::builder(model.clone())
        .system("Be brief.")
        .option("max_tokens", 4096)
        .option("temperature", 0.7)
        .tool_choice(ToolChoice::Required)
        .parallel_tools(false)
        .max_iterations(3)
        .build()
        .unwrap();
    agent.run("x").await.unwrap();
    let request = &model.requests()[0];
    assert_eq!(json!(request.options), json!({"max_tokens": 4096, "temperature": 0.7}));
    assert_eq!(request.system.as_deref(), Some("Be brief."));
    assert_eq!(request.tool_choice, ToolChoice::Required);
    assert!(!request.parallel_tool_calls && request.tools.is_empty());
}

#[tokio::test]
async fn no_call_is_forced_unless_asked_for() {
    let model = ScriptedModel::answering("ok");
    agent(&model, tools![add]).run("x").await.unwrap();
    assert_eq!(model.requests()[0].tool_choice, ToolChoice::Auto);
}

#[tokio::test]
async fn a_tool_registered_meanwhile_is_offered_in_the_next_step() {
    let toolbox = ToolBox::new();
    let own = toolbox.clone();
    toolbox.register(Tool::new("install", "Installs.").call(move |_| {
        own.register(says("fresh", "new"));
        own.unregister("install");
        "installed"
    }));
    let model = ScriptedModel::new().calls("install", "{}").calls("fresh", "{}").text("ok");
    let agent = Agent::builder(model.clone()).toolbox(toolbox).build().unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(offers(&model), [["install"], ["fresh"], ["fresh"]]);
    check(&outcome.history).calls("fresh", json!({})).returns("new").answers("ok");
}

#[tokio::test]
async fn a_tool_that_its_agent_forbids_meanwhile_is_not_offered_in_the_next_step() {
    let own = Arc::new(std::sync::OnceLock::<Agent>::new());
    let agent = Arc::clone(&own);
    let forbid = Tool::new("forbid", "Forbids.").call(move |_| {
        agent.get().unwrap().blacklist_tool("other");
        "forbidden"
    });
    let model = ScriptedModel::new().calls("forbid", "{}").text("ok");
    let toolbox = ToolBox::from([forbid, says("other", "x"), says("third", "x")]);
    let agent = Agent::builder(model.clone()).toolbox(toolbox).blacklist_tool("third");
    let agent = own.get_or_init(|| agent.build().unwrap());
    agent.run("x").await.unwrap();
    assert_eq!(offers(&model), [vec!["forbid", "other"], vec!["forbid"]]);
}

#[tokio::test]
async fn iterations_count_the_rounds() {
    for rounds in 0..4_u32 {
        let script = (0..rounds).fold(ScriptedModel::new(), |model, at| {
            model.calls("add", format!(r#"{{"a":{at},"b":1}}"#))
        });
        let outcome = agent(&script.text("ok"), tools![add]).run("x").await.unwrap();
        assert_eq!(outcome.iterations, rounds + 1);
        assert_eq!(outcome.usage.input_tokens, u64::from(rounds + 1) * 10);
    }
}

#[tokio::test]
async fn reaching_the_limit_is_told_from_an_answer() {
    let script = || {
        let model = (0..9).fold(ScriptedModel::new(), |model, at| {
            model.calls("add", format!(r#"{{"a":{at},"b":1}}"#))
        });
        Agent::builder(model.clone()).tools(tools![add]).max_iterations(3)
    };
    let outcome = script().build().unwrap().run("x").await.unwrap();
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::MaxIterations, 3));
    assert_eq!(outcome.content, "");
    assert_eq!(outcome.history.steps().count(), 3);

    let error = script().at_max_iterations(MaxIterations::Error).build().unwrap().run("x").await;
    let error = error.unwrap_err();
    assert!(matches!(error.kind, RunErrorKind::MaxIterations(3)));
    assert_eq!(error.history.steps().count(), 3);

    // An empty answer is none.
    let model = ScriptedModel::new().text("").forever();
    let outcome = agent(&model, vec![]).run("x").await.unwrap();
    assert_eq!((outcome.reason, outcome.content.as_str()), (StopReason::NoAnswer, ""));
}

#[tokio::test]
async fn at_the_limit_the_model_may_sum_up() {
    let model = ScriptedModel::new().calls("add", r#"{"a":1,"b":1}"#).reply(Reply::new(vec![
        Part::text("So far: 2."),
        Part::call(ToolCall::new("again", "add", "{}")),
    ]));
    let agent = Agent::builder(model.clone())
        .tools(tools![add])
        .max_iterations(1)
        .at_max_iterations(MaxIterations::Summarize)
        .build()
        .unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(
        (outcome.reason, outcome.content.as_str()),
        (StopReason::MaxIterations, "So far: 2.")
    );
    assert_eq!(outcome.iterations, 2);
    assert_eq!(model.requests()[1].tool_choice, ToolChoice::None);
    check(&outcome.history).calls("add", json!({"a": 1})).never_calls("add").answers("So far: 2.");
}

#[tokio::test]
async fn the_conversation_so_far_and_the_place_of_it_go_in() {
    let place = waits("place", |context: ToolContext| async move {
        let place = context.get::<Conversation>().cloned().unwrap();
        format!("{}/{}", place.channel, place.chat_id)
    });
    let model = ScriptedModel::new().calls("place", "{}").respond(|r| Ok(text(r).into()));
    let agent = agent(&model, vec![place]);
    let before = history_of(&["My name is Ada.", "Hello, Ada."]);
    let context = ToolContext::new().with(Conversation::new("telegram", "42"));
    let outcome = agent.run("Where am I?").with_history(before).in_context(context).await.unwrap();
    assert_eq!(outcome.content, "telegram/42");
    let first = &model.requests()[0].history;
    assert_eq!(first.messages().len(), 3);
    assert_eq!(first.last_user_text().unwrap(), "Where am I?");

    // And the outcome's history goes on in the next run.
    let model = ScriptedModel::answering("yes");
    let again = support::agent(&model, vec![]).run("Sure?").with_history(outcome.history);
    assert_eq!(again.await.unwrap().history.steps().count(), 4);
}

fn history_of(texts: &[&str; 2]) -> History {
    match History::from(texts[0]).reply(Reply::text(texts[1])) {
        Replied::Answer(history) => history,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn three_calls_run_beside_each_other_and_one_request_follows() {
    let slow = |name: &'static str| {
        waits(name, move |_| async move {
            let wait = if name == "web_search" { 300 } else { 100 };
            tokio::time::sleep(Duration::from_millis(wait)).await;
            format!("of {name}")
        })
    };
    let names = ["web_search", "knowledge_search", "file_read"];
    let model = ScriptedModel::new()
        .calls_all(names.map(|name| (name, "{}")))
        .respond(|request| Ok(text(request).into()));
    let began = tokio::time::Instant::now();
    let outcome = agent(&model, names.map(slow).to_vec()).run("x").await.unwrap();
    assert_eq!(outcome.content, "of web_search|of knowledge_search|of file_read");
    assert_eq!(model.requests().len(), 2);
    // The clock is paused, so this is exact: as long as the slowest.
    assert_eq!(began.elapsed().as_millis() / 10, 30);
}

#[tokio::test(start_paused = true)]
async fn parallel_tools_can_be_turned_off() {
    for (parallel, took) in [(true, 10), (false, 30)] {
        let model = ScriptedModel::new().calls_all([("t", "{}"); 3]).text("ok");
        let tool = waits("t", |_| async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            String::new()
        });
        let agent = Agent::builder(model).tools(tool).parallel_tools(parallel).build().unwrap();
        let began = tokio::time::Instant::now();
        agent.run("x").await.unwrap();
        assert_eq!(began.elapsed().as_millis() / 10, took);
    }
}

#[tokio::test]
async fn a_blacklisted_call_is_told_and_the_model_has_another_chance() {
    let count = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new().calls("rm", "{}").calls("ls", "{}").text("ok");
    let agent = Agent::builder(model.clone())
        .tools(vec![counted("rm", &count), says("ls", "files")])
        .blacklist_tool("rm")
        .build()
        .unwrap();
    let log = Log::default();
    let outcome = agent.run("x").on_event(log.listener()).await.unwrap();
    check(&outcome.history)
        .calls("rm", json!({}))
        .fails("tool.blacklisted")
        .calls("ls", json!({}))
        .returns("files")
        .answers("ok");
    assert_eq!(count.load(SeqCst), 0);
    assert!(
        log.events().iter().any(
            |event| matches!(&event.kind, EventKind::ToolRefused { tool, .. } if tool == "rm")
        )
    );
    // It is not offered either, and what the model sees changes, so no cache of replies can repeat
    // itself.
    assert_eq!(offers(&model)[0], ["ls"]);
    assert_ne!(model.requests()[0].history, model.requests()[1].history);

    // Also after the agent was built, from the next step on.
    let model = ScriptedModel::new().calls("ls", "{}").text("ok");
    let agent = support::agent(&model, vec![says("ls", "files")]);
    agent.blacklist_tool("l*");
    let outcome = agent.run("x").await.unwrap();
    check(&outcome.history).calls("ls", json!({})).fails("tool.blacklisted").answers("ok");
}

#[tokio::test]
async fn garbage_from_the_model_never_ends_the_run() {
    for garbage in ["{", "[1]", "nonsense", r#"{"a":1,"a":2}"#, "", r#"{"a":"x","b":1e999}"#] {
        let model = ScriptedModel::new().calls("add", garbage).text("ok");
        let outcome = agent(&model, tools![add]).run("x").await.unwrap();
        assert_eq!(outcome.content, "ok", "{garbage}");
        let step = outcome.history.steps().next().unwrap();
        assert!(step.results()[0].code().unwrap().starts_with("args."), "{garbage}");
        let kept = step.reply().tool_calls().next().unwrap().arguments.as_str();
        assert!(serde_json::from_str::<Value>(kept).unwrap().is_object(), "{garbage}");
    }
}

#[tokio::test]
async fn a_call_in_a_run_is_read_as_it_was_written() {
    // A tool that would take any object never sees one that stands for a broken one.
    let count = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&count);
    let wipe =
        Tool::raw("wipe", "d", json!({"type": "object"}), move |_: toolbox::call::Arguments| {
            own.fetch_add(1, SeqCst);
            "wiped".to_owned()
        });
    let model = ScriptedModel::new()
        .calls("wipe", r#"{"dry_run": tru"#)
        .calls("add", "[1]")
        .respond(|r| Ok(text(r).into()));
    let outcome = agent(&model, vec![wipe, add::tool()]).run("x").await.unwrap();
    assert_eq!(count.load(SeqCst), 0);
    let step = outcome.history.steps().next().unwrap();
    assert!(step.results()[0].text().contains("line 1, column 13"), "{step:?}");
    assert!(outcome.content.contains("must be an object, got an array"), "{}", outcome.content);

    // What a box can read, it reads in a run too.
    for written in [r#""{\"a\":2,\"b\":3}""#, "```json\n{\"a\":2,\"b\":3}\n```"] {
        let model = ScriptedModel::new().calls("add", written).respond(|r| Ok(text(r).into()));
        assert_eq!(agent(&model, tools![add]).run("x").await.unwrap().content, "5", "{written}");
    }
}

#[tokio::test]
async fn a_failing_model_leaves_the_transcript() {
    let model = ScriptedModel::new()
        .calls("add", r#"{"a":1,"b":1}"#)
        .error(ModelErrorKind::Unavailable, "overloaded");
    let error = agent(&model, tools![add]).run("x").await.unwrap_err();
    assert!(
        matches!(&error.kind, RunErrorKind::Model(e) if e.kind() == ModelErrorKind::Unavailable)
    );
    assert_eq!(error.to_string(), "the model gave no reply: overloaded");
    assert_eq!((error.iterations, error.usage.total_tokens()), (2, 15));
    check(&error.history).calls("add", json!({})).returns("2");

    // What is left can be sent again.
    let again = agent(&ScriptedModel::answering("2"), vec![]).run("go on");
    assert_eq!(again.with_history(error.history).await.unwrap().content, "2");
}

#[tokio::test]
async fn a_panicking_model_is_an_error_of_the_model() {
    let model = ScriptedModel::new().respond(|_| std::panic::panic_any("explicit panic"));
    support::quietly();
    let error = agent(&model, vec![]).run("x").await.unwrap_err();
    assert_eq!(error.to_string(), "the model gave no reply: the model panicked");
}

#[tokio::test]
async fn replies_that_were_cut_off_never_run_their_calls() {
    let count = Arc::new(AtomicUsize::new(0));
    for (finish, reason) in
        [(Finish::Length, StopReason::Answered), (Finish::Refusal, StopReason::Refused)]
    {
        let model = ScriptedModel::new().calls("t", "{}").finishing(finish).text("ok");
        let outcome = agent(&model, vec![counted("t", &count)]).run("x").await.unwrap();
        assert_eq!(outcome.reason, reason);
        check(&outcome.history).calls("t", json!({})).fails("call.cancelled");
    }
    assert_eq!(count.load(SeqCst), 0);
}

#[tokio::test]
async fn an_answer_says_how_it_ended() {
    let cases = [
        (Finish::Length, StopReason::Length),
        (Finish::Refusal, StopReason::Refused),
        (Finish::Other("odd".into()), StopReason::Answered),
    ];
    for (finish, reason) in cases {
        let model = ScriptedModel::new().text("half an ans").finishing(finish);
        let outcome = agent(&model, vec![]).run("x").await.unwrap();
        assert_eq!((outcome.reason, outcome.content.as_str()), (reason, "half an ans"));
    }
    for finish in [Finish::Pause, Finish::MalformedCall] {
        let model = ScriptedModel::new().text("wait").finishing(finish).text("done");
        let outcome = agent(&model, vec![]).run("x").await.unwrap();
        assert_eq!((outcome.content.as_str(), outcome.iterations), ("done", 2));
    }
}

#[tokio::test]
async fn the_same_call_again_and_again_is_told_then_stopped() {
    let count = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&count);
    let same = Tool::new("same", "Says the same.").call(move |_| {
        own.fetch_add(1, SeqCst);
        "same"
    });
    let model = ScriptedModel::new().calls("same", "{}").forever();
    let outcome = agent(&model, vec![same.clone()]).run("x").await.unwrap();
    assert_eq!(outcome.reason, StopReason::Repeated);
    assert_eq!((count.load(SeqCst), outcome.iterations), (3, 5));
    let told = outcome.history.steps().nth(3).unwrap().results()[0].text().into_owned();
    assert!(told.contains("3 times, always with the same result"), "{told}");

    // Neither broken arguments nor an approver that edits them hide it.
    let edits = says("t", "same").with_approver(|_: toolbox::context::ApprovalRequest| async {
        toolbox::context::Decision::Edit("{}".into())
    });
    for (tool, arguments) in [(says("t", "same"), "{"), (edits, " {} ")] {
        let model = ScriptedModel::new().calls("t", arguments).forever();
        let outcome = agent(&model, vec![tool]).run("x").await.unwrap();
        assert_eq!(outcome.reason, StopReason::Repeated);
    }

    // Polling is no repetition: the result changes.
    let count = Arc::new(AtomicUsize::new(0));
    let poll = (0..10).fold(ScriptedModel::new(), |model, _| model.calls("t", "{}")).text("ok");
    let outcome = agent(&poll, vec![counted("t", &count)]).run("x").await.unwrap();
    assert_eq!((outcome.reason, count.load(SeqCst)), (StopReason::Answered, 10));

    // And it can be turned off.
    let calm = Agent::builder(model).tools(same).no_repeat_limit().build().unwrap();
    assert_eq!(calm.run("x").await.unwrap().reason, StopReason::MaxIterations);
}

#[tokio::test]
async fn what_becomes_of_infrastructure_failures_is_a_policy() {
    let flaky = |name: &str, fails: usize, read_only: bool| {
        let count = Arc::new(AtomicUsize::new(0));
        let tool = Tool::new(name, "Fails at first.").call(move |_| {
            if count.fetch_add(1, SeqCst) < fails {
                return Err(ToolError::infrastructure("connection refused"));
            }
            Ok("here")
        });
        // A tool that changes nothing may be called twice.
        if read_only {
            let mut annotations = toolbox::definition::ToolAnnotations::default();
            annotations.read_only = Some(true);
            tool.with_annotations(annotations)
        } else {
            tool
        }
    };
    let script = || ScriptedModel::new().calls("db", "{}").respond(|r| Ok(text(r).into()));
    let run = |policy, tool| async move {
        let agent = Agent::builder(script()).tools(tool).on_infrastructure_failure(policy);
        agent.build().unwrap().run("x").await
    };
    let told = "connection refused";
    let report = run(InfrastructurePolicy::Report, flaky("db", 1, true)).await.unwrap();
    assert_eq!(report.content, told);
    let retried = run(InfrastructurePolicy::Retry(2), flaky("db", 2, true)).await.unwrap();
    assert_eq!(retried.content, "here");
    // Not for a tool that may do something twice.
    let once = run(InfrastructurePolicy::Retry(2), flaky("db", 1, false)).await.unwrap();
    assert_eq!(once.content, told);
    let error = run(InfrastructurePolicy::Abort, flaky("db", 1, true)).await.unwrap_err();
    assert_eq!(error.to_string(), "tool `db` failed: connection refused");
    check(&error.history).calls("db", json!({})).fails("tool.infrastructure");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_stops_with_a_whole_transcript() {
    // While a tool runs.
    let token = CancellationToken::new();
    let cancel = token.clone();
    let tool = waits("t", move |_| {
        let cancel = cancel.clone();
        async move {
            cancel.cancel();
            std::future::pending::<String>().await
        }
    });
    let model = ScriptedModel::new().calls_all([("t", "{}"), ("t", "{}")]).text("never");
    let run = agent(&model, vec![tool]).run("x").with_cancellation(token);
    let outcome = run.await.unwrap();
    assert_eq!(outcome.reason, StopReason::Cancelled);
    check(&outcome.history).calls("t", json!({})).fails("call.cancelled");
    assert_eq!(outcome.history.steps().next().unwrap().results().len(), 2);

    // While the model thinks.
    let token = CancellationToken::new();
    let model = ScriptedModel::new().text("late").after(Duration::from_secs(60));
    let run = agent(&model, vec![]).run("x").with_cancellation(token.clone());
    let run = tokio::spawn(run.into_future());
    tokio::time::sleep(Duration::from_secs(1)).await;
    token.cancel();
    let outcome = run.await.unwrap().unwrap();
    assert_eq!((outcome.reason, outcome.history.len()), (StopReason::Cancelled, 1));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_run_is_bounded() {
    let model = ScriptedModel::new().text("late").after(Duration::from_secs(60));
    let agent = Agent::builder(model).timeout(Duration::from_secs(5)).build().unwrap();
    let began = tokio::time::Instant::now();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(outcome.reason, StopReason::TimedOut);
    assert_eq!(began.elapsed().as_secs(), 5);

    let tool = waits("t", |_| std::future::pending::<String>());
    let model = ScriptedModel::new().calls("t", "{}").text("never");
    let agent = Agent::builder(model).tools(tool).timeout(Duration::from_secs(5)).build().unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(outcome.reason, StopReason::TimedOut);
    check(&outcome.history).calls("t", json!({})).fails("tool.timed_out");
}

#[tokio::test]
async fn calls_beyond_the_limit_of_a_reply_are_refused_in_order() {
    let model = ScriptedModel::new().calls_all((0..10_000).map(|_| ("t", "{}"))).text("ok");
    let count = Arc::new(AtomicUsize::new(0));
    let outcome = agent(&model, vec![counted("t", &count)]).run("x").await.unwrap();
    let step = outcome.history.steps().next().unwrap();
    assert_eq!((count.load(SeqCst), step.results().len()), (64, 10_000));
    for (at, (call, result)) in step.calls().enumerate() {
        assert_eq!(result.call_id(), call.id);
        assert_eq!(result.is_error(), at >= 64, "{at}: {result:?}");
    }
    // What was refused is not charged to the budget of the run.
    assert_eq!(outcome.reason, StopReason::Answered);
}

#[tokio::test]
async fn tokens_can_be_budgeted() {
    let model = ScriptedModel::new()
        .calls("add", r#"{"a":1,"b":1}"#)
        .calls("add", r#"{"a":1,"b":2}"#)
        .text("never");
    let agent =
        Agent::builder(model.clone()).tools(tools![add]).max_total_tokens(30).build().unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::Budget, 2));
    check(&outcome.history).calls("add", json!({"b": 2})).returns("3");
}

#[tokio::test]
async fn names_that_only_a_provider_knows_are_the_tools_own_in_the_transcript() {
    let dotted = says("web.search", "hits");
    let alias = toolbox::dialect::outbound_name("web.search", toolbox::dialect::Dialect::Anthropic);
    let model = ScriptedModel::new().calls(alias.into_owned(), "{}").text("ok");
    let outcome = agent(&model, vec![dotted]).run("x").await.unwrap();
    check(&outcome.history).calls("web.search", json!({})).returns("hits").answers("ok");
}

#[tokio::test]
async fn a_large_result_is_not_copied_on_its_way() {
    let big = Tool::new("big", "Says much.").call(|_| "x".repeat(1 << 20));
    let model = ScriptedModel::new().calls("big", "{}").text("ok");
    let limit = ToolBox::builder().tools(big).max_result_bytes(2 << 20).build().unwrap();
    let agent = Agent::builder(model.clone()).toolbox(limit).build().unwrap();
    let outcome = agent.run("x").await.unwrap();
    let place = |history: &History| {
        history.steps().next().unwrap().results()[0].content()[0].as_text().unwrap().as_ptr()
    };
    // The transcript shares its messages with every request it was part of.
    assert_eq!(place(&outcome.history), place(&model.requests()[1].history));
}

#[tokio::test]
async fn runs_of_one_agent_do_not_see_each_other() {
    let model = ScriptedModel::new()
        .respond(|request| Ok(request.history.last_user_text().unwrap().into_owned().into()))
        .forever();
    let agent = agent(&model, vec![]);
    let runs = (0..20).map(|at| tokio::spawn(agent.run(format!("{at}")).into_future()));
    for (at, run) in runs.enumerate() {
        let outcome = run.await.unwrap().unwrap();
        assert_eq!((outcome.content, outcome.history.len()), (format!("{at}"), 2));
    }
}

#[test]
fn an_agent_runs_without_a_runtime() {
    let outcome = support::now(agent(&scripted_sum(), tools![add]).run("x").into_future());
    assert_eq!(outcome.unwrap().content, "It is 5.");
}

#[test]
fn a_limit_of_time_needs_neither_a_clock_nor_a_sensible_value() {
    support::quietly();
    for limit in [Duration::from_secs(5), Duration::MAX] {
        let agent = Agent::builder(ScriptedModel::answering("ok")).timeout(limit).build().unwrap();
        let without_time = ::tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcome = without_time.block_on(agent.run("x").into_future());
        assert_eq!(outcome.unwrap().content, "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn what_bounds_a_run_holds_in_any_order() {
    let late = || ScriptedModel::new().text("late").after(Duration::from_secs(60));
    let deadline = tokio::time::Instant::now() + Duration::from_secs(1);
    let run = agent(&late(), vec![]).run("x").with_deadline(deadline.into_std());
    let outcome = run.in_context(ToolContext::new()).await.unwrap();
    assert_eq!(outcome.reason, StopReason::TimedOut);

    let token = CancellationToken::new();
    token.cancel();
    let run = agent(&late(), vec![]).run("x").with_cancellation(token);
    assert_eq!(run.in_context(ToolContext::new()).await.unwrap().reason, StopReason::Cancelled);
}

#[tokio::test]
async fn a_required_call_is_required_once() {
    let model = scripted_sum();
    let agent = Agent::builder(model.clone()).tools(tools![add]).tool_choice(ToolChoice::Required);
    agent.build().unwrap().run("x").await.unwrap();
    let choices: Vec<_> = model.requests().into_iter().map(|request| request.tool_choice).collect();
    assert_eq!(choices, [ToolChoice::Required, ToolChoice::Auto]);
}
