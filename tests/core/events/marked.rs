//! Messages about arguments: a value is secret if any schema that may apply to it says so, whichever
//! of them it is at fault with.

use std::sync::{Arc, Mutex};

use crate::bounded::tokio;
use serde_json::{Value, json};
use toolbox::call::Arguments;
use toolbox::event::EventSink;
use toolbox::search::{EXECUTE, Gateway};
use toolbox::{Tool, ToolBox, ToolCall};

const SECRET: &str = "hunter2";
const NUMBER: &str = "4242424";

/// Schemas whose mark stands elsewhere than the rule that is broken, and arguments that break it.
type Case = (&'static str, Value, Value);

fn secret() -> Value {
    json!({"type": "string", "writeOnly": true})
}

fn rule() -> Value {
    json!({"type": "string", "pattern": "^[0-9]+$"})
}

fn mark() -> Value {
    json!({"writeOnly": true})
}

fn pw() -> Value {
    json!({"format": "password"})
}

fn field(schema: Value) -> Value {
    json!({"type": "object", "properties": {"x": schema}, "$defs": {"s": secret(), "rule": rule(), "mark": mark(), "pw": pw()}})
}

fn x(value: Value) -> Value {
    json!({"x": value})
}

/// Rules and marks of one value.
fn of_values() -> Vec<Case> {
    vec![
        ("allOf rule mark", field(json!({"allOf": [rule(), mark()]})), x(json!(SECRET))),
        ("allOf mark rule", field(json!({"allOf": [mark(), rule()]})), x(json!(SECRET))),
        (
            "allOf beside",
            field(json!({"type": "string", "pattern": "^[0-9]+$", "allOf": [mark()]})),
            x(json!(SECRET)),
        ),
        (
            "allOf refs",
            field(json!({"allOf": [{"$ref": "#/$defs/rule"}, {"$ref": "#/$defs/pw"}]})),
            x(json!(SECRET)),
        ),
        (
            "ref rule beside mark",
            field(json!({"$ref": "#/$defs/rule", "writeOnly": true})),
            x(json!(SECRET)),
        ),
        (
            "ref mark beside rule",
            field(json!({"$ref": "#/$defs/mark", "pattern": "^[0-9]+$"})),
            x(json!(SECRET)),
        ),
        (
            "anyOf pattern",
            field(
                json!({"anyOf": [rule(), {"type": "string", "pattern": "^a$", "format": "password"}]}),
            ),
            x(json!(SECRET)),
        ),
        (
            "anyOf int pw",
            field(
                json!({"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "string", "pattern": "^a$", "format": "password"}]}),
            ),
            x(json!(SECRET)),
        ),
        (
            "anyOf beside",
            field(json!({"pattern": "^[0-9]+$", "anyOf": [{"type": "string"}, mark()]})),
            x(json!(SECRET)),
        ),
        (
            "if then",
            field(
                json!({"type": "string", "pattern": "^[0-9]+$", "if": {"minLength": 3}, "then": mark()}),
            ),
            x(json!(SECRET)),
        ),
        (
            "if then rule",
            field(json!({"if": {"minLength": 3}, "then": rule(), "else": mark()})),
            x(json!(SECRET)),
        ),
        (
            "then mark allOf rule",
            field(json!({"allOf": [rule()], "if": {"minLength": 3}, "then": mark()})),
            x(json!(SECRET)),
        ),
        ("enum", field(json!({"enum": ["a"], "allOf": [mark()]})), x(json!(SECRET))),
        ("const", field(json!({"const": "a", "anyOf": [mark()]})), x(json!(SECRET))),
        ("bool", field(json!({"allOf": [{"type": "boolean"}, mark()]})), x(json!(SECRET))),
        (
            "max",
            field(json!({"allOf": [{"type": "integer", "maximum": 3}, mark()]})),
            x(json!(4_242_424)),
        ),
        ("max ref", field(json!({"maximum": 3, "$ref": "#/$defs/mark"})), x(json!(4_242_424))),
        ("not", field(json!({"not": {"type": "string"}, "allOf": [mark()]})), x(json!(SECRET))),
    ]
}

/// Of items and fields.
fn of_parts() -> Vec<Case> {
    vec![
        (
            "items",
            field(json!({"type": "array", "items": {"allOf": [rule(), mark()]}})),
            x(json!([SECRET])),
        ),
        (
            "items all",
            field(json!({"type": "array", "allOf": [{"items": rule()}, {"items": mark()}]})),
            x(json!([SECRET])),
        ),
        (
            "prefix all",
            field(
                json!({"type": "array", "allOf": [{"items": rule()}, {"prefixItems": [mark()]}]}),
            ),
            x(json!([SECRET])),
        ),
        (
            "contains",
            field(json!({"type": "array", "items": rule(), "contains": mark()})),
            x(json!([SECRET])),
        ),
        (
            "props all",
            field(
                json!({"type": "object", "properties": {"p": rule()}, "allOf": [{"properties": {"p": mark()}}]}),
            ),
            x(json!({"p": SECRET})),
        ),
        (
            "props pattern",
            field(
                json!({"type": "object", "properties": {"p": rule()}, "patternProperties": {"^p": mark()}}),
            ),
            x(json!({"p": SECRET})),
        ),
        (
            "pattern pattern",
            field(json!({"type": "object", "patternProperties": {"p$": rule(), "^p": mark()}})),
            x(json!({"p": SECRET})),
        ),
        (
            "props dep",
            field(
                json!({"type": "object", "properties": {"p": rule()}, "dependentSchemas": {"p": {"properties": {"p": mark()}}}}),
            ),
            x(json!({"p": SECRET})),
        ),
        (
            "props additional",
            field(
                json!({"type": "object", "properties": {"p": rule()}, "allOf": [{"additionalProperties": mark()}]}),
            ),
            x(json!({"p": SECRET})),
        ),
        (
            "props then",
            field(
                json!({"type": "object", "properties": {"p": rule()}, "if": {"required": ["p"]}, "then": {"properties": {"p": mark()}}}),
            ),
            x(json!({"p": SECRET})),
        ),
        (
            "uneval",
            field(json!({"type": "object", "unevaluatedProperties": {"allOf": [rule(), mark()]}})),
            x(json!({"p": SECRET})),
        ),
    ]
}

/// Of names, of values in the place of others, and of whole calls.
fn of_names() -> Vec<Case> {
    vec![
        (
            "names",
            field(
                json!({"type": "object", "propertyNames": {"allOf": [{"pattern": "^[0-9]+$"}, mark()]}}),
            ),
            x(json!({SECRET: 1})),
        ),
        (
            "names deep",
            field(
                json!({"type": "object", "propertyNames": {"allOf": [{"pattern": "^[a-z0-9]+$"}, mark()]}, "additionalProperties": {"type": "integer"}}),
            ),
            x(json!({SECRET: "a"})),
        ),
        (
            "dup",
            field(
                json!({"type": "object", "propertyNames": mark(), "additionalProperties": false}),
            ),
            x(json!({SECRET: "a"})),
        ),
        (
            "object instead",
            field(json!({"type": "object", "properties": {"p": mark()}})),
            x(json!(SECRET)),
        ),
        ("array instead", field(json!({"type": "array", "items": mark()})), x(json!(SECRET))),
        (
            "array instead ref",
            field(json!({"type": "array", "items": {"$ref": "#/$defs/s"}})),
            x(json!(4_242_424)),
        ),
        (
            "string for obj keys",
            field(json!({"type": "string", "format": "password"})),
            x(json!({SECRET: 1})),
        ),
        (
            "keys where mark in allOf",
            field(json!({"allOf": [{"type": "string"}, mark()]})),
            x(json!({SECRET: 1})),
        ),
        ("keys items", field(json!({"type": "array", "items": mark()})), x(json!({SECRET: 1}))),
        (
            "array for string",
            field(json!({"allOf": [{"type": "string"}, mark()]})),
            x(json!([SECRET])),
        ),
        (
            "unknown name",
            json!({"type": "object", "properties": {"pin": secret()}, "additionalProperties": false}),
            json!({SECRET: 1}),
        ),
        (
            "unknown near",
            json!({"type": "object", "properties": {"pin": secret()}, "additionalProperties": false}),
            json!({"pim": SECRET}),
        ),
        ("whole", json!({"type": "object", "properties": {"pin": secret()}}), json!(SECRET)),
        (
            "whole array",
            json!({"type": "object", "properties": {"pin": secret()}}),
            json!([SECRET]),
        ),
        (
            "root mark",
            json!({"type": "object", "writeOnly": true, "properties": {"a": {"type": "integer"}}}),
            json!({"a": SECRET}),
        ),
        (
            "root all",
            json!({"type": "object", "properties": {"a": {"type": "integer"}}, "allOf": [{"properties": {"a": mark()}}]}),
            json!({"a": SECRET}),
        ),
    ]
}

/// What becomes of a call: its result, and all events with their content.
async fn told(schema: &Value, tool: &str, arguments: &str) -> [String; 2] {
    let lines = Arc::new(Mutex::new(String::new()));
    let own = Arc::clone(&lines);
    let sink = EventSink::from_fn(move |event| {
        own.lock().unwrap().push_str(&serde_json::to_string(&event).unwrap());
    });
    let login = Tool::raw("login", "Signs in.", schema.clone(), |_: Arguments| "ran").deferred();
    let toolbox = ToolBox::builder().tools(login).events(sink.with_content()).build().unwrap();
    toolbox.register(Gateway::over(&toolbox));
    let result = toolbox.call(ToolCall::new("c", tool, arguments)).await;
    assert!(result.is_error(), "{schema} {arguments}");
    let lines = lines.lock().unwrap().clone();
    [result.text().into_owned(), lines]
}

#[tokio::test]
async fn a_secret_is_shown_by_no_message_wherever_its_mark_stands() {
    for (name, schema, arguments) in [of_values(), of_parts(), of_names()].concat() {
        let text = arguments.to_string();
        let envelope = json!({"name": "login", "arguments": arguments}).to_string();
        let cut = text.trim_end_matches('}');
        for (tool, text) in [("login", &*text), (EXECUTE, &envelope), ("login", cut)] {
            if cut == text && !arguments.is_object() {
                continue;
            }
            for told in told(&schema, tool, text).await {
                assert!(!told.contains(SECRET) && !told.contains(NUMBER), "{name}, {text}: {told}");
            }
        }
    }
}

/// A mark hides its own value alone.
#[tokio::test]
async fn what_no_schema_marks_is_shown_beside_a_secret() {
    let secret = json!({"type": "string", "format": "password"});
    let rule = json!({"type": "string", "pattern": "^[0-9]+$"});
    let beside = |x: Value| json!({"type": "object", "properties": {"x": x, "pin": secret}});
    for (schema, arguments, shown) in [
        (beside(rule.clone()), json!({"x": "plain"}), "got the string \"plain\""),
        (beside(json!({"allOf": [rule]})), json!({"x": "plain"}), "got the string \"plain\""),
        (beside(json!({"maximum": 3})), json!({"x": 77}), "got 77"),
        (beside(json!({"type": "string"})), json!({"x": {"a": 1}}), "got an object with a"),
        (
            beside(
                json!({"type": "array", "items": {"type": "object", "properties": {"p": rule, "q": secret}}}),
            ),
            json!({"x": [{"p": "plain", "q": SECRET}]}),
            "`x[0].p` must match `^[0-9]+$`, got the string \"plain\"",
        ),
        (
            beside(json!({"type": "object", "additionalProperties": {"allOf": [rule]}})),
            json!({"x": {"key": "plain"}}),
            "`x.key` must match `^[0-9]+$`, got the string \"plain\"",
        ),
        (
            json!({"type": "object", "properties": {"pin": secret}, "additionalProperties": false}),
            json!({"pim": SECRET}),
            "`pim` is not an argument; did you mean `pin`?",
        ),
    ] {
        let [told, events] = told(&schema, "login", &arguments.to_string()).await;
        assert!(told.contains(shown), "{schema}: {told}");
        assert!(!told.contains(SECRET) && !events.contains(SECRET), "{schema}: {told}");
    }
}
