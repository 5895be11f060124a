//! Features of a run that meet: guards, handoffs, steering, pauses, limits of the context.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use serde_json::json;
use toolbox::agent::{
    Agent, AgentBuilder, Checked, EventKind, Handoff, Paused, StopReason, Verdict,
};
use toolbox::context::{ApprovalRequest, Decision, Taint};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolContext};

use super::counted;
use super::steering::{once, short, steers};
use crate::bounded::tokio;

fn read_back(paused: Option<Paused>) -> Paused {
    let text = serde_json::to_string(&paused.expect("it paused")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn no_secrets(input: &Checked) -> Verdict {
    Verdict::block_if(input.text().contains("secret"), "a secret")
}

/// An agent that calls `count` twice and then answers.
fn counting(count: &Arc<AtomicUsize>) -> AgentBuilder {
    let model = ScriptedModel::new().calls("count", "{}").calls("count", "{ }").text("done");
    Agent::builder(model.forever()).tools(counted("count", count))
}

#[tokio::test]
async fn a_message_that_comes_later_passes_the_guards_before_any_tool_runs() {
    // The step before which the user says it, how often the tool ran, by then.
    for (step, ran) in [(1, 1), (2, 2), (3, 2)] {
        for (text, blocks) in [("a secret", true), ("a hint", false)] {
            let count = Arc::new(AtomicUsize::new(0));
            let agent = counting(&count).guard_input(no_secrets).build().unwrap();
            let run = agent.run("go");
            let handle = run.handle();
            let asked = move |event: &toolbox::agent::Event| {
                event.step == step && matches!(event.kind, EventKind::ModelStarted)
            };
            let outcome = run.on_event(once(asked, steers(handle, text))).await.unwrap();
            let expected = if blocks { StopReason::InputBlocked } else { StopReason::Answered };
            assert_eq!(outcome.reason, expected, "{text} at {step}");
            assert_eq!(count.load(SeqCst), if blocks { ran } else { 2 }, "{text} at {step}");
            assert!(short(&outcome.history).contains(&format!("user {text}")));
        }
    }
}

#[tokio::test]
async fn a_pause_is_no_way_around_the_guards() {
    // What the user says first, while it is paused at a step, and as it goes on.
    let cases = [
        (0, "a secret", None, None, 0),
        (0, "go", Some("a secret"), None, 0),
        (0, "go", None, Some("a secret"), 0),
        (1, "go", Some("a secret"), None, 1),
        (1, "go", None, Some("a secret"), 1),
    ];
    for (step, first, meanwhile, then, ran) in cases {
        let what = format!("{first}, {meanwhile:?}, {then:?} at {step}");
        let count = Arc::new(AtomicUsize::new(0));
        let agent = counting(&count).guard_input(no_secrets).build().unwrap();
        let run = agent.run(first);
        let handle = run.handle();
        let pause = move || {
            handle.pause();
            meanwhile.iter().for_each(|text| assert!(handle.steer(*text)));
        };
        let outcome = if step == 0 {
            pause();
            run.await.unwrap()
        } else {
            let asked =
                |event: &toolbox::agent::Event| matches!(event.kind, EventKind::ModelStarted);
            run.on_event(once(asked, pause)).await.unwrap()
        };
        assert_eq!(outcome.reason, StopReason::Paused, "{what}");
        let run = agent.go_on(read_back(outcome.paused));
        let run = match then {
            Some(text) => run.with_input(text),
            None => run,
        };
        let outcome = run.await.unwrap();
        assert_eq!((outcome.reason, count.load(SeqCst)), (StopReason::InputBlocked, ran), "{what}");
    }
}

#[tokio::test]
async fn an_agent_below_that_pauses_before_its_first_request_is_guarded() {
    let count = Arc::new(AtomicUsize::new(0));
    let child = counting(&count).guard_input(no_secrets).build().unwrap();
    let model = ScriptedModel::new().calls("child", r#"{"task":"a secret"}"#).text("well");
    let boss = Agent::builder(model).tools(child.as_tool("child", "d")).build().unwrap();
    let run = boss.run("go");
    let handle = run.handle();
    let called =
        |event: &toolbox::agent::Event| matches!(event.kind, EventKind::ToolStarted { .. });
    let outcome = run.on_event(once(called, move || handle.pause())).await.unwrap();
    let outcome = boss.go_on(read_back(outcome.paused)).await.unwrap();
    let result = outcome.history.steps().next().unwrap().results()[0].text().into_owned();
    assert!(result.contains("stopped by a guard: a secret"), "{result}");
    assert_eq!(count.load(SeqCst), 0);
}

#[tokio::test]
async fn guards_hold_across_a_handoff_and_a_pause_within_it() {
    // Where the guard is, and when the user says what it blocks: to begin with, or once the
    // conversation was handed over; with a pause at the handoff or without.
    let cases = [
        ("first", "go", Some("a secret")),
        ("second", "a secret", None),
        ("second", "go", Some("a secret")),
    ];
    for (guarded, first, later) in cases {
        for pauses in [false, true] {
            let what = format!("{guarded}: {first}, {later:?}, paused: {pauses}");
            let count = Arc::new(AtomicUsize::new(0));
            let guard = |builder: AgentBuilder, name: &str| {
                if name == guarded { builder.guard_input(no_secrets) } else { builder }
            };
            let second = guard(counting(&count), "second").name("second").build().unwrap();
            let model = ScriptedModel::new().calls("transfer_to_second", "{}");
            let agent = guard(Agent::builder(model), "first")
                .name("first")
                .handoff(&second)
                .build()
                .unwrap();
            let run = agent.run(first);
            let handle = run.handle();
            let handed =
                |event: &toolbox::agent::Event| matches!(event.kind, EventKind::HandedOver { .. });
            let act = move || {
                later.iter().for_each(|text| assert!(handle.steer(*text)));
                if pauses {
                    handle.pause();
                }
            };
            let mut outcome = run.on_event(once(handed, act)).await.unwrap();
            if pauses {
                assert_eq!(outcome.reason, StopReason::Paused, "{what}");
                outcome = agent.go_on(read_back(outcome.paused)).await.unwrap();
            }
            assert_eq!(
                (outcome.reason, count.load(SeqCst)),
                (StopReason::InputBlocked, 0),
                "{what}"
            );
        }
    }
}

#[tokio::test]
async fn what_the_user_says_after_a_handoff_without_history_is_the_users() {
    let second = Agent::builder(ScriptedModel::answering("ok")).name("second").build();
    let model =
        ScriptedModel::new().calls("transfer_to_second", r#"{"task":"see https://task.test/"}"#);
    let agent = Agent::builder(model)
        .handoff(Handoff::to(&second.unwrap()).without_history())
        .build()
        .unwrap();
    let run = agent.run("go");
    let handle = run.handle();
    let handed = |event: &toolbox::agent::Event| matches!(event.kind, EventKind::HandedOver { .. });
    let taint = Taint::new();
    let run = run.on_event(once(handed, steers(handle, "see https://mine.test/")));
    run.in_context(ToolContext::new().with(taint.clone())).await.unwrap();
    assert!(taint.was_shown("https://mine.test/") && !taint.was_shown("https://task.test/"));
}

#[tokio::test]
async fn an_answer_from_outside_to_a_handoff_hands_nothing_over() {
    for at_once in [true, false] {
        let second = Agent::builder(ScriptedModel::answering("mine now")).name("second").build();
        let tool = Handoff::to(&second.unwrap()).into_tool().unwrap();
        let tool = if at_once {
            tool.with_approver(|_: ApprovalRequest| async { Decision::Answer("stay".into()) })
        } else {
            tool.needs_approval()
        };
        let model = ScriptedModel::new().calls("transfer_to_second", "{}").text("I stay");
        let toolbox = ToolBox::from(vec![tool]);
        let agent = Agent::builder(model).name("first").toolbox(toolbox).build().unwrap();
        let mut outcome = agent.run("go").await.unwrap();
        if !at_once {
            let decisions = [("call_1", Decision::Answer("stay".into()))];
            outcome = agent.resume(read_back(outcome.paused), decisions).await.unwrap();
        }
        assert_eq!((outcome.agent.as_str(), outcome.content.as_str()), ("first", "I stay"));
        toolbox::testing::check(&outcome.history)
            .calls("transfer_to_second", json!({}))
            .returns("stay");
    }
}
