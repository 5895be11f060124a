//! Events and spans: enough to draw what happens.

use crate::bounded::tokio;
use std::sync::Arc;

use toolbox::agent::{Agent, EventKind};
use toolbox::model::Delta;
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolResult};

use super::Log;
use support::says;
use support::waits;

/// An event in a word or two.
fn word(kind: &EventKind) -> String {
    match kind {
        EventKind::ModelStarted { .. } => "ask".into(),
        EventKind::Delta(Delta::Text(text)) => format!("+{text}"),
        EventKind::Delta(Delta::Call { name, .. }) => format!("+{name}()"),
        EventKind::Delta(_) => "+".into(),
        EventKind::ModelFinished { finish, calls, .. } => format!("replied {finish} {calls}"),
        EventKind::ToolStarted { tool, .. } => format!("{tool} starts"),
        EventKind::ToolFinished(end) => {
            format!("{} {}", end.tool, end.code.as_deref().unwrap_or("ok"))
        }
        EventKind::ToolRefused { tool, code, .. } => format!("{tool} refused {code}"),
        EventKind::Finished { reason, .. } => reason.to_string(),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn a_run_tells_what_happens_in_order() {
    let model = ScriptedModel::new()
        .calls_all([("hello", "{}"), ("rm", "{}"), ("none", "{}")])
        .text("All is well.");
    let agent = Agent::builder(model)
        .tools(vec![says("hello", "hi"), says("rm", "gone")])
        .blacklist_tool("rm")
        .parallel_tools(false)
        .build()
        .unwrap();
    let mut events = agent.run("x").events();
    let mut words = Vec::new();
    let mut steps = Vec::new();
    while let Some(event) = events.next().await {
        words.push(word(&event.kind));
        steps.push(event.step);
    }
    assert_eq!(
        words,
        [
            "ask",
            "+hello()",
            "+",
            "+rm()",
            "+",
            // No schema says which of its arguments are secret.
            "+none()",
            "replied calls 3",
            "hello starts",
            "hello ok",
            "rm refused tool.blacklisted",
            "rm tool.blacklisted",
            "none refused tool.not_found",
            "none tool.not_found",
            "ask",
            "+All ",
            "+is ",
            "+well.",
            "replied stop 0",
            "answered"
        ]
    );
    assert!(steps.is_sorted() && steps[0] == 1 && steps.last() == Some(&2));
    assert_eq!(events.outcome().await.unwrap().content, "All is well.");
}

#[tokio::test]
async fn what_the_user_should_see_is_in_the_event() {
    let shows = Tool::new("show", "d").call(|_| ToolResult::user("Saved."));
    let hides = Tool::new("hide", "d").call(|_| ToolResult::silent("x").with_user_text("y"));
    let model = ScriptedModel::new().calls_all([("show", "{}"), ("hide", "{}")]).text("ok");
    let log = Log::default();
    support::agent(&model, vec![shows, hides]).run("x").on_event(log.listener()).await.unwrap();
    let texts: Vec<_> = log
        .events()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::ToolFinished(end) => Some((end.tool, end.user_text)),
            _ => None,
        })
        .collect();
    assert!(texts.contains(&("show".to_owned(), Some("Saved.".to_owned()))));
    assert!(texts.contains(&("hide".to_owned(), None)));
}

#[tokio::test]
async fn a_listener_that_panics_loses_its_event_and_nothing_else() {
    support::quietly();
    let model = ScriptedModel::new().calls("hello", "{}").text("ok");
    let run = support::agent(&model, vec![says("hello", "hi")]).run("x");
    let outcome = run.on_event(|_| std::panic::panic_any("explicit panic")).await.unwrap();
    assert_eq!(outcome.content, "ok");
}

#[tokio::test]
async fn dropping_the_stream_of_events_ends_the_run() {
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let never = waits("never", move |_| {
        let held = Arc::clone(&held);
        async move {
            std::future::pending::<()>().await;
            format!("{held:?}")
        }
    });
    let model = ScriptedModel::new().calls("never", "{}").text("never");
    let mut events = support::agent(&model, vec![never]).run("x").events();
    while let Some(event) = events.next().await {
        if matches!(event.kind, EventKind::ToolStarted { .. }) {
            break;
        }
    }
    let while_it_runs = Arc::strong_count(&alive);
    drop(events);
    tokio::task::yield_now().await;
    assert!(Arc::strong_count(&alive) < while_it_runs);
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn calls_that_are_not_made_are_told_of_by_name() {
    let ends = |log: &Log| -> Vec<String> {
        let events = log.events().into_iter().map(|event| match event.kind {
            EventKind::ApprovalDeferred { tool, call_id } => format!("{call_id} {tool} deferred"),
            EventKind::ToolFinished(end) => {
                format!("{} {} {}", end.call_id, end.tool, end.code.as_deref().unwrap_or("ok"))
            }
            _ => String::new(),
        });
        events.filter(|event| !event.is_empty()).collect()
    };
    // Beyond the budget.
    let log = Log::default();
    let model = ScriptedModel::new().calls_all([("t", "{}"), ("t", "{}")]);
    let agent = Agent::builder(model).tools(says("t", "s")).max_total_calls(1).build().unwrap();
    agent.run("x").on_event(log.listener()).await.unwrap();
    assert_eq!(ends(&log), ["call_2 t run.over_budget", "call_1 t ok"]);

    // Repeated.
    let log = Log::default();
    let model = ScriptedModel::new().calls_all([("t", "{}"), ("u", "{}")]).forever();
    let agent = Agent::builder(model).tools(vec![says("t", "s"), says("u", "s")]).repeat_limit(2);
    let outcome = agent.build().unwrap().run("x").on_event(log.listener()).await.unwrap();
    let calls: usize = outcome.history.steps().map(|step| step.results().len()).sum();
    let ends_of_t = ends(&log).iter().filter(|end| end.contains(" t ")).count();
    assert_eq!((ends(&log).len(), ends_of_t), (calls, calls / 2));

    // Decided on elsewhere.
    let model = ScriptedModel::new().calls_all([("t", "{}"), ("t", "{}")]).text("never");
    let agent = support::agent(&model, vec![says("t", "s").needs_approval()]);
    let paused = agent.run("x").await.unwrap().paused.unwrap();
    let log = Log::default();
    let denied = [("call_1", toolbox::context::Decision::Deny("no".into()))];
    agent.resume(paused, denied).on_event(log.listener()).await.unwrap();
    assert_eq!(ends(&log), ["call_1 t tool.not_approved", "call_2 t deferred"]);
}

#[tokio::test]
async fn a_background_tool_and_a_failed_run_are_told_of_from_start_to_end() {
    let log = Log::default();
    let model = ScriptedModel::new().calls("job", "{}").text("wait");
    let job = waits("job", |_| async { "built".to_owned() }).background();
    support::agent(&model, vec![job]).run("x").on_event(log.listener()).await.unwrap_err();
    let words: Vec<_> = log.events().iter().map(|event| word(&event.kind)).collect();
    let at = |wanted: &str| words.iter().position(|word| word == wanted);
    assert!(at("job starts").unwrap() < at("job ok").unwrap(), "{words:?}");
    assert!(matches!(&log.events().last().unwrap().kind,
        EventKind::Failed { message, .. } if message.contains("the script is over")));
}

#[tokio::test]
async fn a_listener_may_panic_with_anything() {
    struct PanicsAgain;
    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                std::panic::panic_any("explicit panic");
            }
        }
    }
    support::quietly();
    let run = support::agent(&ScriptedModel::answering("ok"), vec![]).run("x");
    let outcome = run.on_event(|_| std::panic::panic_any(PanicsAgain)).await.unwrap();
    assert_eq!(outcome.content, "ok");
}

#[tokio::test]
async fn events_are_a_stream_and_the_outcome_is_behind_it() {
    use futures_util::stream::{FusedStream as _, StreamExt};

    let model = ScriptedModel::new().calls("hello", "{}").text("All is well.");
    let build = || Agent::builder(model.clone()).tools(says("hello", "hi")).build().unwrap();
    let mut events = build().run("x").events();
    assert!(!events.is_terminated());
    let words: Vec<_> = events.by_ref().map(|event| word(&event.kind)).collect().await;
    assert!(events.is_terminated());
    assert_eq!(StreamExt::next(&mut events).await, None, "it stays at its end");
    assert_eq!(events.outcome().await.unwrap().content, "All is well.");
    let expected = [
        "ask",
        "+hello()",
        "+",
        "replied calls 1",
        "hello starts",
        "hello ok",
        "ask",
        "+All ",
        "+is ",
        "+well.",
        "replied stop 0",
        "answered",
    ];
    assert_eq!(words, expected);
    // The outcome of a run whose stream was left in between.
    let model = ScriptedModel::answering("It goes on.");
    let mut events = Agent::builder(model).build().unwrap().run("x").events();
    assert!(StreamExt::next(&mut events).await.is_some());
    assert_eq!(events.outcome().await.unwrap().content, "It goes on.");
}
