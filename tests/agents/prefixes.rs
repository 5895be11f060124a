//! The beginning of a prompt that a service has cached: where it ends, and why.

use serde_json::json;
use toolbox::agent::{Agent, ContextRule};
use toolbox::event::EventKind;
use toolbox::model::{
    History, ModelRequest, PrefixCause, PrefixChanged, Replied, Reply, ToolChoice, ToolSearch,
};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolCall, ToolDefinition, ToolResult};

use crate::bounded::tokio;
use support::{Seen, says};

fn request() -> ModelRequest {
    let call = ToolCall::new("c1", "add", r#"{"a":1,"b":2}"#);
    let Replied::Calls(open) = History::from("1 + 2?").reply(Reply::calls([call])) else {
        unreachable!()
    };
    ModelRequest::new(open.answer([ToolResult::new("3")]))
        .with_system("Count.")
        .with_tools(definitions("Adds", "Multiplies"))
        .with_option("temperature", 0.5)
        .with_option("reasoning", "low")
}

fn definitions(add: &str, multiply: &str) -> Vec<ToolDefinition> {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    [("add", add), ("multiply", multiply)]
        .map(|(name, text)| ToolDefinition::new(name, text, schema.clone()))
        .to_vec()
}

/// Returns the request with one message more.
fn longer(mut request: ModelRequest) -> ModelRequest {
    request.history.push_user("And ü?");
    request
}

#[test]
fn the_common_beginning_ends_at_the_first_part_that_changed() {
    type Change = fn(ModelRequest) -> ModelRequest;
    let message = PrefixCause::Message;
    let tool = |name: &str| PrefixCause::Tool(name.to_owned());
    let cases: [(&str, Change, Option<PrefixCause>); 19] = [
        ("nothing", |r| r, None),
        ("one more message", longer, None),
        ("the temperature", |r| longer(r).with_option("temperature", 0.9), None),
        ("a limit", |r| r.with_option("max_tokens", 9), None),
        ("the same option again", |r| r.with_option("reasoning", "low"), None),
        (
            "tools found later",
            |r| {
                let later = ToolBox::from(says("later", "x")).definitions();
                r.with_search(ToolSearch::new("add", later))
            },
            None,
        ),
        (
            "the same definitions, made anew",
            |r| r.with_tools(definitions("Adds", "Multiplies")),
            None,
        ),
        ("another text", |r| r.with_tools(definitions("Adds", "Times")), Some(tool("multiply"))),
        (
            "a tool less",
            |r| r.with_tools(definitions("Adds", "")[..1].to_vec()),
            Some(tool("multiply")),
        ),
        (
            "a tool more",
            |r| {
                let mut all = definitions("Adds", "Multiplies");
                all.extend(definitions("third", "").drain(..1).map(|mut third| {
                    third.name = "third".to_owned();
                    third
                }));
                r.with_tools(all)
            },
            Some(tool("third")),
        ),
        (
            "another order",
            |r| {
                let mut all = definitions("Adds", "Multiplies");
                all.reverse();
                r.with_tools(all)
            },
            Some(tool("multiply")),
        ),
        ("no tools", |r| r.with_tools(Vec::new()), Some(tool("add"))),
        ("the system prompt", |r| longer(r).with_system("Count!"), Some(PrefixCause::System)),
        ("the choice", |r| r.with_tool_choice(ToolChoice::None), Some(PrefixCause::Settings)),
        ("an option", |r| r.with_option("reasoning", "high"), Some(PrefixCause::Settings)),
        ("one at a time", |r| r.with_parallel_tool_calls(false), Some(PrefixCause::Settings)),
        (
            "the first message",
            |mut r| {
                r.history = History::from("1 + 3?");
                longer(r)
            },
            Some(message(0)),
        ),
        (
            "half of a character",
            |mut r| {
                r.history = History::from("1 + 2?");
                r.history.push_user("é");
                r
            },
            Some(message(1)),
        ),
        (
            "a message less",
            |mut r| {
                r.history = History::from("1 + 2?");
                r
            },
            Some(message(1)),
        ),
    ];
    let first = request();
    for (what, change, expected) in cases {
        let second = change(first.clone());
        let found = second.prefix_changed_since(&first);
        assert_eq!(found.as_ref().map(|found| &found.because), expected.as_ref(), "{what}");
        let (first, second) = (text(&first), text(&second));
        let Some(PrefixChanged { at, .. }) = found else { continue };
        assert_eq!(first[..at], second[..at], "{what}");
        let (first, second) = (first[at..].chars().next(), second[at..].chars().next());
        assert_ne!(first, second, "{what}");
    }
}

fn text(request: &ModelRequest) -> String {
    serde_json::to_string(request).unwrap()
}

/// Returns the changes that a run reports, and the number of its requests.
async fn changes(agent: toolbox::agent::AgentBuilder) -> (Vec<PrefixCause>, usize) {
    let seen = Seen::default();
    let agent = agent.events(seen.sink()).build().unwrap();
    agent.run("Go.").await.unwrap();
    let lines = seen.lines();
    let read: Vec<toolbox::event::Event> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, seen.events());
    let mut requests = 0;
    let causes = read.into_iter().filter_map(|event| match event.kind {
        EventKind::PrefixChanged(change) => Some(change.because),
        EventKind::ModelStarted { .. } => {
            requests += 1;
            None
        }
        _ => None,
    });
    (causes.collect(), requests)
}

#[tokio::test]
async fn a_run_reports_what_costs_it_the_cache() {
    let long = "some words ".repeat(400);
    let script = || {
        let model = ScriptedModel::new();
        (0..6).fold(model, |model, n| model.calls("say", format!(r#"{{"n":"{n}"}}"#))).text("ok")
    };
    let say = || {
        Tool::raw("say", "Says.", json!({"type": "object"}), {
            let long = long.clone();
            move |_: toolbox::call::Arguments| long.clone()
        })
    };
    // A transcript that only grows loses nothing.
    let plain = Agent::builder(script()).tools(say());
    assert_eq!(changes(plain).await, (Vec::new(), 7));
    // Messages that are taken out cost the rest.
    let short = Agent::builder(script())
        .tools(say())
        .max_context_tokens(3000)
        .context_rules([ContextRule::drop_oldest()]);
    let (causes, requests) = changes(short).await;
    assert_eq!(requests, 7);
    assert!(!causes.is_empty(), "no request was shortened");
    assert!(causes.iter().all(|cause| matches!(cause, PrefixCause::Message(_))), "{causes:?}");
}
