//! The envelope of a call through the gateway: as closed as the arguments of any tool.

use std::sync::{Arc, Mutex};

use crate::bounded::tokio;
use serde_json::json;
use toolbox::call::Arguments;
use toolbox::search::{EXECUTE, Gateway, SEARCH_PATTERN, SEARCH_WORDS};
use toolbox::{Tool, ToolBox, ToolCall};

/// A box with a tool all of whose arguments are optional, and what it ran with.
fn toolbox() -> (ToolBox, Arc<Mutex<Vec<String>>>) {
    let ran = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&ran);
    let schema = json!({"type": "object", "properties": {"filter": {"type": "string"}, "name": {"type": "string"}},
        "additionalProperties": false});
    let delete = Tool::raw("delete", "Deletes files", schema, move |arguments: Arguments| {
        own.lock().unwrap().push(arguments.to_string());
        async { "deleted" }
    });
    let toolbox = ToolBox::from(delete.deferred());
    toolbox.register(Gateway::over(&toolbox));
    (toolbox, ran)
}

#[tokio::test]
async fn what_stands_beside_the_arguments_is_refused_and_nothing_runs() {
    let put = |key: &str| format!("`{key}` stands beside `arguments`: put it inside");
    let call = |key: &str, to: &str| format!("`{key}` is not its key: call it `{to}`");
    let cases = [
        (r#"{"name":"delete","filter":"old"}"#, put("filter")),
        (r#"{"name":"delete","filter":"old","arguments":{}}"#, put("filter")),
        (r#"{"name":"delete","arguments":{"filter":"a"},"cwd":"/x"}"#, put("cwd")),
        (r#"{"name":"delete","arguments":{"filter":"a"},"args":{"filter":"b"}}"#, put("args")),
        (r#"{"name":"delete","params":{"filter":"old"}}"#, call("params", "arguments")),
        (r#"{"name":"delete","args":{"filter":"old"}}"#, call("args", "arguments")),
        (r#"{"name":"delete","input":{"filter":"old"}}"#, call("input", "arguments")),
        (r#"{"name":"delete","Arguments":{"filter":"old"}}"#, call("Arguments", "arguments")),
        (r#"{"name":"delete","parameters":"{}"}"#, call("parameters", "arguments")),
        (r#"{"tool_name":"delete","arguments":{"filter":"old"}}"#, call("tool_name", "name")),
        (r#"{"tool_name":"delete","args":{}}"#, call("tool_name", "name")),
        (r#"{"name":"delete","arguments":["old"]}"#, "`arguments`".to_owned()),
        (r#"{"name":"delete","arguments":true}"#, "`arguments`".to_owned()),
        (r#"{"name":"delete","arguments":"[\"old\"]"}"#, "`delete`".to_owned()),
        (r#"{"name":"delete","tool":"other","arguments":{}}"#, "two names".to_owned()),
        (r#"{"name":"delete","name":"other","arguments":{}}"#, "duplicate key".to_owned()),
        (
            r#"{"name":"delete","arguments":{"filter":"a"},"arguments":{}}"#,
            "duplicate key".to_owned(),
        ),
        // The same key in other letters, which a reader takes for it.
        (r#"{"name":"delete","arguments ":{"filter":"old"}}"#, "`arguments`".to_owned()),
        (r#"{"name":"delete","ARGUMENTS":{"filter":"old"}}"#, "`arguments`".to_owned()),
        (r#"{"name":"delete","argu\u200bments":{"filter":"old"}}"#, "`arguments`".to_owned()),
        (r#"{"name":"delete","\u0430rguments":{"filter":"old"}}"#, "`arguments`".to_owned()),
        (
            r#"{"name":"delete","arguments":{},"Arguments":{"filter":"old"}}"#,
            "Arguments".to_owned(),
        ),
        (
            r#"{"name":"delete","arguments":{"arguments":{"filter":"old"}}}"#,
            "`arguments`".to_owned(),
        ),
        (
            r#"{"name":"delete","arguments":{"name":"delete","arguments":{"filter":"old"}}}"#,
            "`arguments`".to_owned(),
        ),
        (
            r#"{"Name":"delete","arguments":{"filter":"old"}}"#,
            "send {\"name\": the tool's name".to_owned(),
        ),
        (r#"{"name ":"delete"}"#, "send {\"name\": the tool's name".to_owned()),
        (r#"{"name":["delete"],"arguments":{}}"#, "`name`".to_owned()),
        (r#"{"arguments":{"filter":"a"}}"#, "`name` is missing".to_owned()),
        (r#"{"name":7,"arguments":{}}"#, "`name`".to_owned()),
        (r#"{"name":"delete","arguments":{"filter":"a"}"#, EXECUTE.to_owned()),
        ("[]", EXECUTE.to_owned()),
        ("", "`name` is missing".to_owned()),
    ];
    let (toolbox, ran) = toolbox();
    for (text, says) in cases {
        let result = toolbox.call(ToolCall::new("1", EXECUTE, text)).await;
        assert!(result.is_error() && result.text().contains(&says), "{text}: {}", result.text());
        assert!(result.code().is_some_and(|code| code.starts_with("args")), "{text}: {result:?}");
    }
    assert_eq!(*ran.lock().unwrap(), [""; 0]);
}

#[tokio::test]
async fn an_envelope_within_an_envelope_runs_nothing() {
    let (toolbox, ran) = toolbox();
    for inner in [json!({"name": "delete", "filter": "old"}), json!({"name": "delete"})] {
        let outer = json!({"name": EXECUTE, "arguments": inner});
        let result = toolbox.call(ToolCall::new("1", EXECUTE, outer)).await;
        assert!(result.text().contains("by itself"), "{inner}: {}", result.text());
    }
    assert_eq!(*ran.lock().unwrap(), [""; 0]);
}

#[tokio::test]
async fn arguments_are_repaired_as_those_of_any_tool() {
    let old = r#"{"filter":"old"}"#;
    let cases = [
        (r#"{"name":"delete","arguments":{"filter":"old"}}"#, old),
        (r#"{"name":"delete","arguments":"{\"filter\":\"old\"}"}"#, old),
        (r#"{"name":"delete","arguments":"\"{\\\"filter\\\":\\\"old\\\"}\""}"#, old),
        (r#"{"toolId":"delete","arguments":{"filter":"old"}}"#, old),
        ("```json\n{\"name\":\"delete\",\"arguments\":{\"filter\":\"old\"}}\n```", old),
        (r#""{\"name\":\"delete\",\"arguments\":{\"filter\":\"old\"}}""#, old),
        (r#"{"name":"delete","arguments":{"name":"x"}}"#, r#"{"name":"x"}"#),
        (r#"{"name":"delete","arguments":null}"#, "{}"),
        (r#"{"name":"delete","arguments":""}"#, "{}"),
        (r#"{"name":"delete","arguments":"null"}"#, "{}"),
        (r#"{"name":"delete"}"#, "{}"),
    ];
    for (text, expected) in cases {
        let (toolbox, ran) = toolbox();
        let result = toolbox.call(ToolCall::new("1", EXECUTE, text)).await;
        assert_eq!(result.text(), "deleted", "{text}");
        assert_eq!(*ran.lock().unwrap(), [expected], "{text}");
    }
}

#[tokio::test]
async fn the_searches_take_their_own_keys_alone() {
    let (toolbox, _) = toolbox();
    for (tool, key) in [(SEARCH_WORDS, "text"), (SEARCH_PATTERN, "pattern")] {
        for other in ["query", "filter", "Limit"] {
            let arguments = json!({key: "delete", other: "1"});
            let result = toolbox.call(ToolCall::new("1", tool, arguments)).await;
            assert!(result.is_error() && result.text().contains(other), "{}", result.text());
        }
        let result =
            toolbox.call(ToolCall::new("1", tool, json!({key: "delete", "limit": 3}))).await;
        assert_eq!(result.references(), ["delete"]);
    }
}
