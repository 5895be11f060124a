//! A hand on a run at work: messages on its way, pauses, results from outside, usage of a tree.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use serde_json::json;
use toolbox::agent::{
    Agent, Event, EventKind, JobPolicy, Paused, RunErrorKind, RunHandle, StopReason,
};
use toolbox::context::{ApprovalRequest, CancellationToken, Decision, Principal, Taint};
use toolbox::model::{History, Message, ModelErrorKind, ToolChoice, Usage};
use toolbox::results::MemoryResults;
use toolbox::testing::{ScriptedModel, check};
use toolbox::{Tool, ToolBox, ToolCall, ToolContext};

use super::Log;
use crate::bounded::tokio;
use crate::wire::keeps_the_rules_everywhere;
use support::says;
use support::{agent, counted};

/// Lets `act` see the first event that `is_wanted`.
pub(super) fn once(
    is_wanted: impl Fn(&Event) -> bool + Send + Sync + 'static,
    act: impl Fn() + Send + Sync + 'static,
) -> impl Fn(Event) + Send + Sync + 'static {
    let done = AtomicUsize::new(0);
    move |event| {
        if is_wanted(&event) && done.fetch_add(1, SeqCst) == 0 {
            act();
        }
    }
}

pub(super) fn steers(handle: RunHandle, text: &'static str) -> impl Fn() + Send + Sync + 'static {
    move || assert!(handle.steer(text))
}

/// A transcript in short: `user` texts, `model` texts, and `call` names.
pub(super) fn short(history: &History) -> Vec<String> {
    let mut all = Vec::new();
    for message in history.messages() {
        match message {
            Message::User(content) => {
                all.push(format!("user {}", content[0].as_text().unwrap_or_default()));
            }
            Message::Step(step) => {
                if !step.reply().content().is_empty() {
                    all.push(format!("model {}", step.reply().content()));
                }
                all.extend(step.calls().map(|(call, _)| format!("call {}", call.name)));
            }
            _ => {}
        }
    }
    all
}

#[tokio::test]
async fn a_message_enters_at_the_next_step_and_parts_no_call_from_its_result() {
    type When = fn(&Event) -> bool;
    let cases: [(&str, When, &[&str]); 4] = [
        (
            "before the first request",
            |event| matches!(event.kind, EventKind::ModelStarted { .. }),
            &["user go", "call fine", "call fine", "user more", "model done"],
        ),
        (
            "while a tool runs",
            |event| matches!(event.kind, EventKind::ToolStarted { .. }),
            &["user go", "call fine", "call fine", "user more", "model done"],
        ),
        (
            "while the model answers",
            |event| event.step == 2 && matches!(event.kind, EventKind::ModelStarted { .. }),
            &["user go", "call fine", "call fine", "model done", "user more", "model done"],
        ),
        (
            "once it has answered",
            |event| event.step == 2 && matches!(event.kind, EventKind::ModelFinished { .. }),
            &["user go", "call fine", "call fine", "model done", "user more", "model done"],
        ),
    ];
    for (what, when, expected) in cases {
        let model = ScriptedModel::new()
            .calls_all([("fine", "{}"), ("fine", "{ }")])
            .text("done")
            .forever();
        let agent = agent(&model, vec![says("fine", "fine")]);
        let run = agent.run("go");
        let handle = run.handle();
        let outcome = run.on_event(once(when, steers(handle.clone(), "more"))).await.unwrap();
        assert_eq!(outcome.reason, StopReason::Answered);
        assert_eq!(short(&outcome.history), expected, "{what}");
        for request in model.requests() {
            keeps_the_rules_everywhere(&request.history);
        }
        assert!(handle.is_ended() && !handle.steer("too late"), "{what}");
    }
}

#[tokio::test]
async fn no_message_is_lost_however_the_run_ends() {
    let token = CancellationToken::new();
    let cancelling = token.clone();
    let cancels = Tool::new("fine", "d").call(move |_| {
        cancelling.cancel();
        "fine"
    });
    let fine = || says("fine", "fine");
    let calls = || ScriptedModel::new().calls("fine", "{}").forever();
    let cases = [
        ("iterations", Agent::builder(calls()).tools(fine()).max_iterations(1), None),
        ("budget", Agent::builder(calls()).tools(fine()).max_total_tokens(1), None),
        ("cancelled", Agent::builder(calls()).tools(cancels), Some(token)),
    ];
    for (what, builder, token) in cases {
        let run = builder.build().unwrap().run("go");
        let run = match token {
            Some(token) => run.with_cancellation(token),
            None => run,
        };
        let handle = run.handle();
        let started = |event: &Event| matches!(event.kind, EventKind::ToolStarted { .. });
        let outcome = run.on_event(once(started, steers(handle, "more"))).await.unwrap();
        assert_eq!(short(&outcome.history), ["user go", "call fine", "user more"], "{what}");
    }
    let model = ScriptedModel::new().error(ModelErrorKind::Other, "down");
    let run = agent(&model, vec![]).run("go");
    let handle = run.handle();
    let started = |event: &Event| matches!(event.kind, EventKind::ModelStarted { .. });
    let error = run.on_event(once(started, steers(handle, "more"))).await.unwrap_err();
    assert_eq!(short(&error.history), ["user go", "user more"]);
}

#[tokio::test]
async fn messages_from_many_tasks_all_arrive_once() {
    let (first, second) = (Arc::new(tokio::sync::Notify::new()), Arc::new(AtomicUsize::new(0)));
    let (wait, arrived) = (Arc::clone(&first), Arc::clone(&second));
    let slow = Tool::raw("slow", "Waits", json!({"type": "object"}), {
        move |_: toolbox::call::Arguments| {
            let wait = Arc::clone(&wait);
            async move {
                wait.notified().await;
                "done"
            }
        }
    });
    let model = ScriptedModel::new().calls("slow", "{}").text("done").forever();
    let run = agent(&model, vec![slow]).run("go");
    let handle = run.handle();
    let running = tokio::spawn(run.into_future());
    let tasks: Vec<_> = (0..50)
        .map(|at| {
            let (handle, arrived) = (handle.clone(), Arc::clone(&arrived));
            tokio::spawn(async move {
                assert!(handle.steer(format!("message {at}")));
                arrived.fetch_add(1, SeqCst);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    first.notify_one();
    let outcome = running.await.unwrap().unwrap();
    let mut told = short(&outcome.history);
    told.retain(|line| line.starts_with("user message "));
    let before = told.len();
    told.sort_unstable();
    told.dedup();
    assert_eq!((before, told.len(), second.load(SeqCst)), (50, 50, 50));
}

#[tokio::test]
async fn a_steered_url_counts_as_shown_and_a_pinned_message_is_pinned() {
    let model = ScriptedModel::new().calls("fine", "{}").text("done");
    let run = agent(&model, vec![says("fine", "fine")]).run("go");
    let handle = run.handle();
    assert!(handle.steer_pinned("Look at https://a.test/page"));
    let taint = Taint::new();
    let outcome = run.in_context(ToolContext::new().with(taint.clone())).await.unwrap();
    assert!(taint.was_shown("https://a.test/page"));
    assert_eq!(short(&outcome.history)[..2], ["user go", "user Look at https://a.test/page"]);
    assert!(outcome.history.is_pinned(1) && !outcome.history.is_pinned(0));
}

/// Pauses before the second request, stores the document, and reads it back.
async fn paused_at(agent: &Agent, step: u32) -> Paused {
    let run = agent.run("go");
    let handle = run.handle();
    let finished = move |event: &Event| {
        event.step == step
            && event.depth() == 0
            && matches!(event.kind, EventKind::ModelFinished { .. })
    };
    let outcome = run.on_event(once(finished, move || handle.pause())).await.unwrap();
    assert_eq!((outcome.reason, outcome.reason.code()), (StopReason::Paused, "paused"));
    let paused = outcome.paused.unwrap();
    let text = serde_json::to_string(&paused).unwrap();
    let read: Paused = serde_json::from_str(&text).unwrap();
    assert_eq!(read, paused);
    assert!(read.pending().is_empty());
    read
}

#[tokio::test]
async fn a_paused_run_is_a_document_and_goes_on_elsewhere() {
    let count = Arc::new(AtomicUsize::new(0));
    let tools = || vec![counted("note", &count)];
    let model = ScriptedModel::new().calls("note", "{}").calls("note", "{ }");
    let first = Agent::builder(model.clone()).tools(tools()).build().unwrap();
    let paused = paused_at(&first, 1).await;
    assert_eq!((count.load(SeqCst), model.requests().len()), (1, 1), "the call had its result");

    let model = ScriptedModel::new().calls("note", "{}").text("done");
    let second = Agent::builder(model.clone()).tools(tools()).build().unwrap();
    let outcome = second.go_on(paused).with_input("more").await.unwrap();
    assert_eq!((outcome.iterations, outcome.usage), (3, Usage::new(30, 15)));
    assert_eq!(
        short(&outcome.history),
        ["user go", "call note", "user more", "call note", "model done"]
    );
    assert_eq!(count.load(SeqCst), 2);
}

#[tokio::test]
async fn a_pause_before_the_first_request_and_one_that_comes_too_late() {
    let model = ScriptedModel::new().text("done").text("again");
    let agent = agent(&model, vec![]);
    let run = agent.run("go");
    run.handle().pause();
    let outcome = run.await.unwrap();
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::Paused, 0));
    assert!(model.requests().is_empty());
    let outcome = agent.go_on(outcome.paused.unwrap()).await.unwrap();
    assert_eq!(outcome.content, "done");

    let run = agent.run("go");
    let handle = run.handle();
    let finished = |event: &Event| matches!(event.kind, EventKind::ModelFinished { .. });
    let outcome = run.on_event(once(finished, move || handle.pause())).await.unwrap();
    assert_eq!(outcome.content, "again", "an answer is an answer");
}

#[tokio::test]
async fn a_pause_holds_for_agent_and_principal_like_one_for_an_approval() {
    let model = ScriptedModel::new().calls("fine", "{}").forever();
    let agent = agent(&model, vec![says("fine", "fine")]);
    let paused = paused_at(&agent, 1).await;
    let other = Agent::builder(model.clone()).name("other").build().unwrap();
    let ada = ToolContext::new().with(Principal::new("ada"));
    for run in [other.go_on(paused.clone()), agent.go_on(paused.clone()).in_context(ada)] {
        let error = run.await.unwrap_err();
        assert!(matches!(error.kind, RunErrorKind::ForeignPause { .. }), "{error}");
    }
    // A damaged document is refused, and not read as another.
    let mut damaged = serde_json::to_value(&paused).unwrap();
    damaged["open"]["reply"] = json!({"parts": [{"type": "text", "text": "x"}], "finish": "stop"});
    assert!(serde_json::from_value::<Paused>(damaged).is_err());
}

#[tokio::test]
async fn what_holds_for_the_run_still_holds_after_a_pause() {
    // A forced choice of tools ends with the first call, and not with the pause.
    let model = ScriptedModel::new().calls("fine", "{}").text("done").forever();
    let build = || {
        Agent::builder(model.clone())
            .tools(says("fine", "fine"))
            .tool_choice(ToolChoice::Required)
            .max_total_tokens(40)
            .build()
            .unwrap()
    };
    let paused = paused_at(&build(), 1).await;
    let outcome = build().go_on(paused).await.unwrap();
    assert_eq!(outcome.reason, StopReason::Answered);
    let choices: Vec<_> = model.requests().iter().map(|own| own.tool_choice.clone()).collect();
    assert_eq!(choices, [ToolChoice::Required, ToolChoice::Auto]);

    let model = ScriptedModel::new().calls("fine", "{}").forever();
    let build = |tokens: u64| {
        let builder = Agent::builder(model.clone()).tools(says("fine", "fine"));
        builder.no_repeat_limit().max_total_tokens(tokens).build().unwrap()
    };
    let paused = paused_at(&build(40), 2).await;
    let outcome = build(40).go_on(paused).await.unwrap();
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::Budget, 3));
}

#[tokio::test]
async fn an_agent_below_pauses_with_the_run_and_goes_on_with_it() {
    let count = Arc::new(AtomicUsize::new(0));
    let below = ScriptedModel::new().calls("note", "{}").calls("note", "{ }").text("two notes");
    let above = ScriptedModel::new().calls("child", r#"{"task":"write"}"#).respond(|request| {
        let step = request.history.steps().last().unwrap();
        Ok(step.results()[0].text().into_owned().into())
    });
    let child = Agent::builder(below.clone()).tools(counted("note", &count)).build().unwrap();
    let boss = Agent::builder(above).tools(child.as_tool("child", "d")).build().unwrap();
    let run = boss.run("go");
    let handle = run.handle();
    let finished =
        |event: &Event| event.depth() == 1 && matches!(event.kind, EventKind::ToolFinished { .. });
    let outcome = run.on_event(once(finished, move || handle.pause())).await.unwrap();
    assert_eq!(outcome.reason, StopReason::Paused);
    assert_eq!((below.requests().len(), count.load(SeqCst)), (1, 1));
    let text = serde_json::to_string(&outcome.paused.unwrap()).unwrap();
    let paused: Paused = serde_json::from_str(&text).unwrap();
    let outcome = boss.go_on(paused).await.unwrap();
    assert_eq!((outcome.content.as_str(), count.load(SeqCst)), ("two notes", 2));
    // The usage of the whole tree, in one number.
    assert_eq!(outcome.usage.total_tokens(), 4 * 15);
}

#[tokio::test]
async fn a_run_that_a_tool_starts_by_itself_does_not_pause_with_the_one_above() {
    let child =
        agent(&ScriptedModel::new().calls("fine", "{}").text("done"), vec![says("fine", "f")]);
    let outer = Tool::raw("outer", "d", json!({"type": "object"}), {
        move |context: ToolContext, _: toolbox::call::Arguments| {
            let child = child.clone();
            async move { child.run("go").in_context(context).await.unwrap().reason.code() }
        }
    });
    let model = ScriptedModel::new().calls("outer", "{}");
    let run = agent(&model, vec![outer]).run("go");
    let handle = run.handle();
    let started = |event: &Event| matches!(event.kind, EventKind::ToolStarted { .. });
    let outcome = run.on_event(once(started, move || handle.pause())).await.unwrap();
    assert_eq!(outcome.reason, StopReason::Paused);
    check(&outcome.history).calls("outer", json!({})).returns("answered");
}

#[tokio::test(start_paused = true)]
async fn a_pause_waits_for_jobs_as_the_run_would() {
    for (policy, ended) in [(JobPolicy::Wait, true), (JobPolicy::Cancel, false)] {
        let job = support::waits("job", |_| async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            "late".to_owned()
        });
        let model = ScriptedModel::new().calls("job", "{}").text("done");
        let agent = Agent::builder(model).tools(job.background()).jobs(policy).build().unwrap();
        let paused = paused_at(&agent, 1).await;
        let told = serde_json::to_string(&paused).unwrap();
        assert_eq!(told.contains("has ended"), ended, "{told}");
        let outcome = agent.go_on(paused).await.unwrap();
        assert_eq!(outcome.content, "done");
    }
}

#[tokio::test]
async fn messages_that_come_while_a_run_waits_for_a_decision_are_in_its_document() {
    let tools = || says("pay", "paid").needs_approval();
    let model = ScriptedModel::new().calls("pay", "{}");
    let run = agent(&model, vec![tools()]).run("go");
    let handle = run.handle();
    let deferred = |event: &Event| matches!(event.kind, EventKind::ApprovalDeferred { .. });
    let outcome = run.on_event(once(deferred, steers(handle, "hurry"))).await.unwrap();
    assert_eq!(outcome.reason, StopReason::ApprovalNeeded);
    let text = serde_json::to_string(&outcome.paused.unwrap()).unwrap();
    let paused: Paused = serde_json::from_str(&text).unwrap();
    let second = agent(&ScriptedModel::answering("done"), vec![tools()]);
    let run = second.resume(paused, [("call_1", Decision::Approve)]).with_input("and more");
    let outcome = run.await.unwrap();
    assert_eq!(
        short(&outcome.history),
        ["user go", "call pay", "user hurry", "user and more", "model done"]
    );
}

#[tokio::test]
async fn a_deferred_call_is_answered_from_outside() {
    let count = Arc::new(AtomicUsize::new(0));
    let ask = || counted("pick_a_seat", &count).needs_approval();
    let model = ScriptedModel::new().calls_all([("pick_a_seat", "{}"), ("pick_a_seat", "{ }")]);
    let paused = agent(&model, vec![ask()]).run("go").await.unwrap().paused.unwrap();
    let text = serde_json::to_string(&paused).unwrap();
    let paused: Paused = serde_json::from_str(&text).unwrap();
    let decisions = [
        ("call_1", Decision::Answer("seat 12A".into())),
        ("call_2", Decision::Answer("x".repeat(1 << 20))),
    ];
    let log = Log::default();
    let second = agent(&ScriptedModel::answering("done"), vec![ask()]);
    let outcome = second.resume(paused, decisions).on_event(log.listener()).await.unwrap();
    check(&outcome.history).calls("pick_a_seat", json!({})).returns("seat 12A");
    assert_eq!(count.load(SeqCst), 0, "the tool did not run");
    // The limit of results holds for it as well.
    let results = outcome.history.steps().next().unwrap().results();
    assert!(results[1].omitted_bytes() > 0 && !results[1].is_error());
    let finished = |event: &Event| matches!(event.kind, EventKind::ToolFinished(_));
    assert_eq!(log.events().iter().filter(|event| finished(event)).count(), 2);
}

#[tokio::test]
async fn an_answer_from_outside_passes_where_results_do() {
    // By an approver at once, and in a box that keeps results.
    let long = "a long line of words\n".repeat(2_000);
    let answer = long.clone();
    let answers = move |_: ApprovalRequest| {
        let answer = answer.clone();
        async move { Decision::Answer(answer) }
    };
    let mail = says("mail", "never").untrusted();
    let toolbox = |tool: Tool| {
        ToolBox::builder().tools(tool).keep_results(MemoryResults::new()).build().unwrap()
    };
    let model = ScriptedModel::new().calls("mail", "{}").text("done");
    let by_approver = toolbox(mail.clone().with_approver(answers));
    let taint = Taint::new();
    let run = Agent::builder(model).toolbox(by_approver.clone()).build().unwrap().run("go");
    let outcome = run.in_context(ToolContext::new().with(taint.clone())).await.unwrap();
    let at_once = outcome.history.steps().next().unwrap().results()[0].clone();

    let model = ScriptedModel::new().calls("mail", "{}").text("done");
    let by_resumption = toolbox(mail.needs_approval());
    let waiting = Agent::builder(model).toolbox(by_resumption.clone()).build().unwrap();
    let paused = waiting.run("go").await.unwrap().paused.unwrap();
    let later = Taint::new();
    let run = waiting.resume(paused, [("call_1", Decision::Answer(long))]);
    let outcome = run.in_context(ToolContext::new().with(later.clone())).await.unwrap();
    let resumed = outcome.history.steps().next().unwrap().results()[0].clone();
    for (result, taint, toolbox) in [(at_once, taint, by_approver), (resumed, later, by_resumption)]
    {
        assert_eq!(result.handle(), Some("r1"));
        assert!(taint.is_tainted(), "what others wrote may be repeated by anybody");
        // Nor is it forgotten until another conversation reads on.
        let fresh = Taint::new();
        let read = ToolCall::new("1", "result_read", r#"{"handle": "r1", "lines": "1"}"#);
        let read = toolbox.call_in(&ToolContext::new().with(fresh.clone()), read).await;
        assert_eq!(read.text(), "a long line of words\n");
        assert!(fresh.is_tainted());
    }
}

#[tokio::test]
async fn a_typed_answer_waits_for_messages_too() {
    let model = ScriptedModel::new()
        .calls("final_answer", r#"{"answer": 1}"#)
        .calls("final_answer", r#"{"answer": 2}"#);
    let run = agent(&model, vec![]).run("How many?").answering_with::<u8>();
    let handle = run.handle();
    let finished = |event: &Event| matches!(event.kind, EventKind::ModelFinished { .. });
    let steer = once(finished, steers(handle, "Count the cellar too."));
    let outcome = run.on_event(steer).await.unwrap();
    assert_eq!(outcome.answer_as::<u8>().unwrap(), 2);
    let told = Arc::new(Mutex::new(short(&outcome.history)));
    assert!(told.lock().unwrap().contains(&"user Count the cellar too.".to_owned()));
}
