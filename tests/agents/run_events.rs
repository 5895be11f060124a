//! Events of agents: those of a box, of an agent, of a run, and of agents below.

use crate::bounded::tokio;
use std::collections::BTreeSet;

use serde_json::json;
use toolbox::agent::{Agent, ContextRule};
use toolbox::call::Arguments;
use toolbox::context::{Decision, Principal};
use toolbox::event::{Event, EventKind};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolContext};

use support::Seen;
use support::says;

#[tokio::test]
async fn one_run_reports_to_its_box_its_agent_and_its_listener() {
    let (of_box, of_agent, of_run) = (Seen::default(), Seen::default(), Seen::default());
    let toolbox =
        ToolBox::builder().tools(says("hello", "hi")).events(of_box.sink()).build().unwrap();
    let model = ScriptedModel::new().calls("hello", "{}").text("All is well.");
    let agent = Agent::builder(model).toolbox(toolbox).events(of_agent.sink()).build().unwrap();
    agent.run("x").with_events(of_run.sink()).await.unwrap();
    let model = &agent.toolbox().names();
    assert_eq!(model.len(), 1);
    let expected = [
        "ask scripted",
        "reply calls",
        "call_1 hello starts",
        "call_1 hello ok",
        "ask scripted",
        "reply stop",
        "answered",
    ];
    for seen in [of_box, of_agent, of_run] {
        assert_eq!(seen.words(), expected);
        let steps: Vec<u32> = seen.events().iter().map(|event| event.step).collect();
        assert_eq!(steps, [1, 1, 1, 1, 2, 2, 2]);
    }
}

#[tokio::test]
async fn agents_below_are_told_apart_by_run_path_and_parent() {
    let seen = Seen::default();
    let below = ScriptedModel::new().calls("hello", "{}").text("a").forever();
    let below = Agent::builder(below).tools(says("hello", "hi")).build().unwrap();
    let model = || {
        ScriptedModel::new()
            .calls_all([("worker", r#"{"task":"one"}"#), ("worker", r#"{"task":"two"}"#)])
            .text("ok")
    };
    let boss = |model| {
        Agent::builder(model)
            .name("boss")
            .add_subagent(below.as_tool("worker", "Works"))
            .events(seen.sink())
            .parallel_tools(false)
            .build()
            .unwrap()
    };
    let context = ToolContext::new().with(Principal::new("ada"));
    boss(model()).run("x").in_context(context).await.unwrap();
    let of_first = seen.events().len();
    boss(model()).run("x").await.unwrap();
    let events = seen.events();
    let (first, second) = events.split_at(of_first);
    let runs = |events: &[Event]| -> BTreeSet<String> {
        events.iter().map(|event| event.run.clone().unwrap()).collect()
    };
    assert_eq!((runs(first).len(), runs(second).len()), (1, 1));
    assert_ne!(runs(first), runs(second));
    assert!(first.iter().all(|event| event.principal.as_deref() == Some("ada")));
    assert!(second.iter().all(|event| event.principal.is_none()));
    for event in first {
        let below = event.path.len() == 2;
        assert_eq!(
            event.path.last().map(String::as_str),
            Some(if below { "worker" } else { "boss" })
        );
        match &event.parent_call_id {
            Some(parent) => assert!(below && parent.starts_with("call_"), "{event:?}"),
            None => assert!(!below, "{event:?}"),
        }
    }
    let parents: BTreeSet<_> =
        first.iter().filter_map(|event| event.parent_call_id.clone()).collect();
    assert_eq!(parents.len(), 2);
}

fn login() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {"user": {"type": "string"}, "pin": {"type": "string", "writeOnly": true}},
    });
    Tool::raw("login", "Signs in.", schema, |_: Arguments| "some words ".repeat(800))
}

#[tokio::test]
async fn what_a_model_writes_and_what_a_run_forgets_hold_no_secret() {
    const CALL: &str = r#"{"user":"ada","pin":"hunter2"}"#;
    let (plain, whole) = (Seen::default(), Seen::default());
    let model = ScriptedModel::new()
        .calls("login", CALL)
        .calls("login", CALL)
        .calls("hello", r#"{"n":"visible"}"#)
        .text("ok");
    let agent = Agent::builder(model)
        .tools(vec![login(), says("hello", "hi")])
        .max_context_tokens(2500)
        .context_rules([ContextRule::drop_oldest()])
        .repeat_limit(100)
        .events(plain.sink())
        .events(whole.sink().with_content())
        .build()
        .unwrap();
    agent.run("Sign in, twice.").await.unwrap();
    for seen in [&plain, &whole] {
        assert!(!seen.lines().contains("hunter2"), "{}", seen.lines());
    }
    let removed = |seen: &Seen| {
        let sizes = seen.events().into_iter().filter_map(|event| match event.kind {
            EventKind::MessagesRemoved { removed, .. } => Some(removed.messages().len()),
            _ => None,
        });
        sizes.collect::<Vec<_>>()
    };
    assert!(removed(&whole).iter().any(|messages| *messages > 0), "{:?}", whole.words());
    assert!(removed(&plain).iter().all(|messages| *messages == 0));
    let deltas = |seen: &Seen| {
        seen.events().iter().filter(|event| matches!(event.kind, EventKind::Delta(_))).count()
    };
    assert!(deltas(&whole) > 0 && whole.lines().contains("visible"));
    assert_eq!(deltas(&plain), 0);
    let read: Vec<Event> =
        whole.lines().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, whole.events());
}

#[tokio::test]
async fn a_decision_that_comes_later_is_an_event() {
    let model = ScriptedModel::new().calls_all([("t", "{}"), ("t", "{}")]).text("ok");
    let seen = Seen::default();
    let agent = Agent::builder(model)
        .tools(says("t", "s").needs_approval())
        .events(seen.sink())
        .parallel_tools(false)
        .build()
        .unwrap();
    let paused = agent.run("x").await.unwrap().paused.unwrap();
    let deferred =
        ["call_1 waits", "call_1 t tool.deferred", "call_2 waits", "call_2 t tool.deferred"];
    assert!(seen.words().windows(4).any(|words| words == deferred), "{:?}", seen.words());
    let before = seen.words().len();
    let decisions = [("call_1", Decision::Approve), ("call_2", Decision::Deny("no".into()))];
    agent.resume(paused, decisions).await.unwrap();
    assert_eq!(
        seen.words()[before..],
        [
            "call_1 approved by resumed",
            "call_2 denied by resumed no",
            "call_2 t tool.not_approved",
            "call_1 t starts",
            "call_1 t ok",
            "ask scripted",
            "reply stop",
            "answered",
        ]
    );
}

#[tokio::test]
async fn a_reader_in_one_task_misses_no_event_of_a_long_run() {
    for results in [1, 60, 200, 1000] {
        let calls = (0..results).map(|_| ("hello", "{}"));
        let model = ScriptedModel::new().calls_all(calls).text("ok");
        let toolbox = ToolBox::builder().tools(says("hello", "hi")).max_batch_calls(results);
        let agent = Agent::builder(model)
            .toolbox(toolbox.build().unwrap())
            .repeat_limit(u32::MAX)
            .max_calls_per_step(results)
            .max_total_calls(5000)
            .build()
            .unwrap();
        let seen = Seen::default();
        let mut events = agent.run("x").with_events(seen.sink().with_content()).events();
        let mut read = Vec::new();
        while let Some(event) = events.next().await {
            read.push(event);
        }
        assert!(read.len() > 2 * results, "{results}: {}", read.len());
        assert_eq!(read.len(), seen.events().len(), "{results}");
        assert!(matches!(read.last().unwrap().kind, EventKind::Finished { .. }), "{results}");
        assert_eq!(events.outcome().await.unwrap().content, "ok", "{results}");
    }
}
