//! Edges of reading, checking and repairing arguments: one character, one field or one entry to
//! either side of a rule.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::call::Arguments;
use toolbox::context::Taint;
use toolbox::dialect::Definitions;
use toolbox::search::Gateway;
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolCall, ToolResult, tool, tools};

use crate::bounded::tokio;

/// Takes a float, an untyped value, and two texts whose names begin alike.
#[tool]
fn typed(
    #[arg(default)] ratio: f64,
    #[arg(default)] any: Value,
    #[arg(default)] document_name: String,
    #[arg(default)] document_path: String,
) -> String {
    format!("{ratio} {any} {document_name} {document_path}")
}

/// Takes a table of numbers, and one of names.
#[tool]
fn tables(
    #[arg(default)] rows: Vec<Vec<u32>>,
    #[arg(default)] names: HashMap<String, u32>,
) -> String {
    format!("{} {}", rows.len(), names.len())
}

/// Takes whatever else is given as numbers.
#[tool]
fn rest(#[arg(flatten)] numbers: HashMap<String, Small>) -> usize {
    numbers.len()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
struct Small(
    #[schemars(range(max = 10))]
    #[allow(dead_code, reason = "only read")]
    u32,
);

/// A tool of the schema that returns its arguments as it got them.
fn raw(schema: Value) -> Tool {
    Tool::raw("raw", "", schema, |arguments: Arguments| arguments.into_string())
}

async fn run(tool: Tool, arguments: &str) -> ToolResult {
    let name = tool.name().to_owned();
    ToolBox::from(tool).call(ToolCall::new("1", name, arguments)).await
}

#[tokio::test]
async fn arguments_at_an_edge_are_read_or_refused() {
    let nested = format!(r#"{{"rows": [{}], "names": 1}}"#, vec!["[1]"; 100].join(","));
    let keys: Vec<String> = (0..40).map(|key| format!(r#""k{key}": 1"#)).collect();
    let twice = format!(r#"{{"names": {{{}, "k0": 2}}}}"#, keys.join(","));
    let deep = format!(r#""{{\"a\": {}1{}}}""#, "[".repeat(70), "]".repeat(70));
    let bound = json!({"type": "object", "properties": {"n": {"type": "number", "exclusiveMinimum": 5, "exclusiveMaximum": 9}}});
    let words = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let nullable = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}, "n": {"type": "integer"}}});
    let boolean = json!({"type": "object", "properties": {"a": {"type": "boolean"}, "n": {"type": "integer"}}});
    for (tool, arguments, expected) in [
        // Digits are needed behind a point.
        (typed::tool(), r#"{"ratio": 1.}"#, Err("JSON")),
        (typed::tool(), r#"{"ratio": 1.5}"#, Ok("1.5 null  ")),
        // Negative zero is a float.
        (typed::tool(), r#"{"any": -0}"#, Ok("0 -0.0  ")),
        // The first eight bytes of both names are the same.
        (typed::tool(), r#"{"document_path": "p", "document_name": "n"}"#, Ok("0 null n p")),
        // A hundred lists side by side are two levels deep.
        (tables::tool(), &nested, Err("`names` must be an object")),
        // The first key again, after more than are kept in a list.
        (tables::tool(), &twice, Err("k0")),
        (rest::tool(), r#"{"a": 10}"#, Ok("1")),
        (rest::tool(), r#"{"a": 11}"#, Err("`a` must be at most 10")),
        (raw(bound.clone()), r#"{"n": 5}"#, Err("greater than 5")),
        (raw(bound.clone()), r#"{"n": 9}"#, Err("less than 9")),
        (raw(bound), r#"{"n": 6}"#, Ok(r#"{"n": 6}"#)),
        // Only a declared argument may be left out for its null.
        (raw(words), r#"{"extra": null}"#, Err("`extra` must be a string, got null")),
        (raw(nullable), r#"{"a": null, "n": "5"}"#, Ok(r#"{"a": null, "n": 5}"#)),
        // A literal is the whole string.
        (raw(boolean.clone()), r#"{"a": " true"}"#, Err("`a` must be `true` or `false`")),
        (raw(boolean.clone()), r#"{"n": "5 "}"#, Err("`n` must be an integer")),
        (raw(boolean), r#"{"a": "true"}"#, Ok(r#"{"a": true}"#)),
        // A fence around a value, and a fence with a language.
        (typed::tool(), "```null```", Ok("0 null  ")),
        (typed::tool(), "```json\n{\"ratio\": 2}\n```", Ok("2 null  ")),
        (tables::tool(), &deep, Err("nest")),
    ] {
        let result = run(tool, arguments).await;
        match expected {
            Ok(text) => assert_eq!(
                (result.text().as_ref(), result.is_error()),
                (text, false),
                "{arguments}"
            ),
            Err(part) => {
                assert!(
                    result.is_error() && result.text().contains(part),
                    "{arguments}: {}",
                    result.text()
                );
            }
        }
    }
}

#[tokio::test]
async fn repairs_are_reported_up_to_twenty_and_none_without_need() {
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "array", "items": {"type": "integer"}}, "mode": {"type": "string", "enum": ["fast", "slow"]}}});
    for (count, mode, expected) in
        [(1, "fast", 1), (1, "FAST", 2), (20, "fast", 20), (30, "fast", 21)]
    {
        let numbers = vec![r#""5""#; count].join(",");
        let result =
            run(raw(schema.clone()), &format!(r#"{{"n": [{numbers}], "mode": "{mode}"}}"#)).await;
        assert!(!result.is_error(), "{}", result.text());
        assert_eq!(result.repairs().len(), expected, "{count} {mode}: {:?}", result.repairs());
        let more = result.repairs().last().unwrap().to_string().contains("10 more");
        assert_eq!(more, count == 30, "{:?}", result.repairs().last());
    }
}

#[test]
fn the_newest_urls_stay_when_the_oldest_are_forgotten() {
    let taint = Taint::new();
    for at in 0..4_097 {
        taint.show(&format!("https://a.test/{at}"));
    }
    for (at, expected) in [(0, false), (511, false), (512, true), (1_000, true), (4_096, true)] {
        assert_eq!(taint.was_shown(&format!("https://a.test/{at}")), expected, "{at}");
    }
}

/// Returns what the agent's model was offered in each request: tools by name, and those to be
/// found.
fn offers(model: &ScriptedModel) -> Vec<(Vec<String>, Vec<String>)> {
    let names = |list: &Definitions| list.iter().map(|tool| tool.name.clone()).collect();
    let requests = model.requests();
    requests
        .iter()
        .map(|request| {
            let found = request.search.as_ref().map(|search| names(&search.deferred));
            (names(&request.tools), found.unwrap_or_default())
        })
        .collect()
}

fn deferred(name: &str) -> Tool {
    Tool::new(name, format!("Sends a mail by {name}")).call(|_| "sent").deferred()
}

#[tokio::test]
async fn a_tool_that_is_forbidden_is_neither_offered_nor_found() {
    let toolbox = ToolBox::new();
    toolbox.register([deferred("send_mail"), deferred("send_letter")]);
    toolbox.register(Gateway::over(&toolbox).promoting_for(5));
    let forbidding = toolbox.clone();
    let done = Arc::new(AtomicBool::new(false));
    let forbid = Tool::new("forbid", "Forbids a tool").call(move |_| {
        done.store(true, SeqCst);
        forbidding.blacklist("send_letter");
        "forbidden"
    });
    toolbox.register(forbid);
    let model = ScriptedModel::new()
        .calls("toolbox_search_bm25", r#"{"text":"send"}"#)
        .calls("forbid", "{}")
        .text("done");
    let agent =
        Agent::builder(model.clone()).toolbox(toolbox).native_tool_search(true).build().unwrap();
    agent.run("x").await.unwrap();
    let offers = offers(&model);
    for (step, tool, expected) in [
        (0, "send_letter", [false, true]),
        (1, "send_letter", [true, true]),
        (1, "send_mail", [true, true]),
        (2, "send_letter", [false, false]),
        (2, "send_mail", [true, true]),
    ] {
        let (offered, found) = &offers[step];
        let is_in = |list: &[String]| list.iter().any(|name| name == tool);
        assert_eq!([is_in(offered), is_in(found)], expected, "{step} {tool}: {offers:?}");
    }
}

#[tokio::test]
async fn a_refusal_by_a_tool_that_is_gone_taints() {
    /// Takes a number.
    #[tool]
    fn number(n: u32) -> u32 {
        n
    }
    let asked = |arguments: &str| ScriptedModel::new().calls("number", arguments).text("done");
    for (arguments, expected) in [(r#"{"n": "x"}"#, true), (r#"{"n": 1}"#, true)] {
        let agent = Agent::builder(asked(arguments)).tools(tools![number]).build().unwrap();
        let history = agent.run("x").await.unwrap().history;
        let later = Agent::builder(ScriptedModel::answering("ok")).build().unwrap();
        let taint = Taint::new();
        let context = toolbox::ToolContext::new().with(taint.clone());
        later.run("y").with_history(history).in_context(context).await.unwrap();
        assert_eq!(taint.is_tainted(), expected, "{arguments}");
    }
}

#[tokio::test]
async fn one_server_takes_three_in_five_places_rounded_up() {
    for (limit, expected) in [(5, 3), (6, 4), (3, 2), (1, 1)] {
        let toolbox = ToolBox::new();
        for at in 0..8 {
            toolbox.register(deferred(&format!("mail_{at}")).from_source("stuffed"));
        }
        for at in 0..8 {
            toolbox.register(
                deferred(&format!("mail_by_post_{at}")).from_source(format!("other{at}")),
            );
        }
        toolbox.register(Gateway::over(&toolbox).default_limit(limit));
        let call = ToolCall::new("1", "toolbox_search_bm25", json!({"text": "mail"}));
        let result = toolbox.call(call).await;
        let found = result.references();
        let of_one = found.iter().filter(|name| !name.contains("post")).count();
        assert_eq!((found.len(), of_one), (limit, expected), "{found:?}");
    }
}
