//! Arguments that weak models write one level too deep, twice, or for a tool that takes none: the
//! refusal says what to send, and nothing runs with defaults in their place.

use std::collections::BTreeMap;

use crate::bounded::tokio;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbox::call::Arguments;
use toolbox::{Tool, ToolBox, ToolCall, tool, tools};

/// Takes one.
#[tool]
fn one(city: String) -> String {
    city
}

/// Takes three.
#[tool]
fn three(city: String, days: u8, units: Option<String>) -> String {
    format!("{city} {days} {units:?}")
}

/// Takes what is optional.
#[tool]
fn options(city: Option<String>, days: Option<u8>) -> String {
    format!("{city:?} {days:?}")
}

/// Takes nothing.
#[tool]
fn none() -> &'static str {
    "ran"
}

/// Takes a list.
#[tool]
fn list(names: Vec<String>) -> String {
    names.join(",")
}

/// Takes any names.
#[tool]
fn rest(#[arg(flatten)] all: BTreeMap<String, Value>) -> String {
    format!("{all:?}")
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
#[allow(dead_code, reason = "is only read")]
enum Tagged {
    Circle { radius: f64 },
    Square { side: f64 },
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "is only read")]
enum Keyed {
    Circle { radius: f64 },
    Square { side: f64 },
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "is only read")]
enum Untagged {
    Circle { radius: f64 },
    Square { side: f64, edge: u8 },
}

#[derive(Deserialize, JsonSchema)]
struct Named<T> {
    name: String,
    #[serde(flatten)]
    #[allow(dead_code, reason = "is only read")]
    shape: T,
}

/// Draws.
#[tool]
fn tagged(p: Named<Tagged>) -> String {
    p.name
}

/// Draws.
#[tool]
fn keyed(p: Named<Keyed>) -> String {
    p.name
}

/// Draws.
#[tool]
fn untagged(p: Named<Untagged>) -> String {
    p.name
}

fn toolbox() -> ToolBox {
    let toolbox =
        ToolBox::from(tools![one, three, options, none, list, rest, tagged, keyed, untagged]);
    let schema = json!({"type": "object", "properties": {"password": {"type": "string", "format": "password"}}});
    toolbox.register(Tool::raw("sign_in", "Takes a secret.", schema, |_: Arguments| "ran"));
    toolbox
}

/// Checks that each call is refused with these lines, behind the first, and no others.
async fn check(cases: &[(&str, &str, &[&str])]) {
    let toolbox = toolbox();
    for (tool, arguments, expected) in cases {
        let result = toolbox.call(ToolCall::new("1", *tool, *arguments)).await;
        let text = result.text();
        let lines: Vec<&str> = text.lines().skip(1).map(|line| &line[2..]).collect();
        assert!(result.is_error(), "{tool} {arguments} ran: {text}");
        assert_eq!(lines, *expected, "{tool} {arguments}: {text}");
    }
}

const ITSELF: &str = "; send the object that stands under this name itself";

#[tokio::test]
async fn arguments_one_level_too_deep_are_told_apart_from_wrong_ones() {
    let missing = "missing required argument `city` (string)";
    let unknown = |name: &str| format!("`{name}` is not an argument; the arguments are `city`");
    for name in ["input", "arguments", "parameters", "args", "kwargs", "one", "properties"] {
        let line = format!("{}{ITSELF}", unknown(name));
        for object in [r#"{"city":"Paris"}"#, r#""{\"city\":\"Paris\"}""#] {
            let arguments = format!(r#"{{"{name}":{object}}}"#);
            check(&[("one", &arguments, &[missing, &line])]).await;
        }
        // What holds other names is no object of the arguments.
        let other = unknown(name);
        for object in [r#"{"town":"Paris"}"#, "{}", "\"Paris\"", "[]", "\"{\""] {
            let arguments = format!(r#"{{"{name}":{object}}}"#);
            check(&[("one", &arguments, &[missing, &other])]).await;
        }
    }
    let all = "the arguments are `city`, `days`, `units`";
    let three = format!("`input` is not an argument; {all}{ITSELF}");
    let options = format!("`input` is not an argument; the arguments are `city`, `days`{ITSELF}");
    check(&[
        (
            "three",
            r#"{"input":{"city":"Paris","days":1}}"#,
            &[missing, "missing required argument `days` (integer)", &three],
        ),
        ("options", r#"{"input":{"city":"Paris","days":1}}"#, &[&options]),
    ])
    .await;
    // Where any name is taken, it is what it says.
    let result = toolbox().call(ToolCall::new("1", "rest", r#"{"input":{}}"#)).await;
    assert_eq!(result.text(), r#"{"input": Object {}}"#);
}

#[tokio::test]
async fn a_value_one_level_too_deep_says_what_to_send() {
    check(&[
        (
            "one",
            r#"{"city":{"city":"Paris"}}"#,
            &["`city` must be a string, got an object with city; send what stands under `city` itself"],
        ),
        (
            "options",
            r#"{"city":{"text":"Paris"}}"#,
            &["`city` must be a string, got an object with text; send what stands under `text` itself"],
        ),
        (
            "one",
            r#"{"city":["Paris"]}"#,
            &["`city` must be a string, got an array of 1 item; send the item itself, without the array"],
        ),
        ("one", r#"{"city":[1]}"#, &["`city` must be a string, got an array of 1 item"]),
        // What is there already was not meant.
        (
            "one",
            r#"{"city":"Paris","citty":"Paris"}"#,
            &["`citty` is not an argument; the arguments are `city`"],
        ),
        ("one", r#"{"city":{"a":"b","c":"d"}}"#, &["`city` must be a string, got an object with a, c"]),
        ("one", r#"{"city":{"a":1}}"#, &["`city` must be a string, got an object with a"]),
        ("one", r#"{"city":["a","b"]}"#, &["`city` must be a string, got an array of 2 items"]),
        (
            "list",
            r#"{"names":{"item":["a"]}}"#,
            &["`names` must be an array, got an object with item; send what stands under `item` itself"],
        ),
        (
            "list",
            r#"{"names":{"0":"a","1":"b"}}"#,
            &["`names` must be an array, got an object with 0, 1; send the values as an array, without numbers as names"],
        ),
        (
            "list",
            r#"{"names":[{"text":"a"}]}"#,
            &["`names[0]` must be a string, got an object with text; send what stands under `text` itself"],
        ),
        ("sign_in", r#"{"password":{"hunter2":"x"}}"#, &["`password` must be a string, got ***"]),
    ])
    .await;
}

#[tokio::test]
async fn an_object_that_is_sent_again_is_no_second_call() {
    let at = |column: usize| {
        format!(
            "the arguments are not valid JSON at line 1, column {column}: expected the end of the arguments, found `{{`"
        )
    };
    let toolbox = toolbox();
    for (arguments, advice) in [
        (r#"{"city":"Paris"}{"city":"Paris"}"#, "this is the same object twice: send it once"),
        (r#"{"city":"Paris"}{ "city": "Paris" }"#, "this is the same object twice: send it once"),
        (r#"{"city":"Paris"}{"city":"Rome"}"#, "these are two objects: make two calls"),
        (r#"{"city":"Paris"}{"city":"Paris"}{}"#, "these are two objects: make two calls"),
    ] {
        let result = toolbox.call(ToolCall::new("1", "one", arguments)).await;
        let text = result.text();
        assert!(text.contains(&at(17)) && text.ends_with(advice), "{arguments}: {text}");
    }
}

#[tokio::test]
async fn what_stands_for_no_arguments_is_none_where_there_are_none() {
    let toolbox = toolbox();
    for arguments in [
        r#"{"_":null}"#,
        r#"{"_":true}"#,
        r#"{"":""}"#,
        r#"{"random_string":"x"}"#,
        r#"{"dummy":1}"#,
        r#"{"input":{}}"#,
        r#"{"args":[]}"#,
        r#"{"reason":null,"_":"a"}"#,
    ] {
        let call = ToolCall::new("1", "none", arguments);
        let repairs = toolbox.check(&call).unwrap();
        assert!(
            repairs[0].to_string().contains("left out a value that stands for no arguments"),
            "{repairs:?}"
        );
        assert_eq!(toolbox.call(call).await.text(), "ran", "{arguments}");
    }
    check(&[
        ("none", r#"{"path":"/etc"}"#, &["`path` is not an argument; there are no arguments here"]),
        (
            "none",
            r#"{"_":{"path":"/etc"}}"#,
            &["`_` is not an argument; there are no arguments here"],
        ),
        // Where there are arguments, it is none of them.
        (
            "one",
            r#"{"city":"Paris","_":null}"#,
            &["`_` is not an argument; the arguments are `city`"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_flattened_enum_names_what_is_missing() {
    let name = "missing required field `p.name` (string)";
    let kind = "missing required field `p.kind` (one of \"Circle\", \"Square\")";
    let radius = "missing required field `p.radius` (number)";
    let key = "missing required field `p.Circle` (or in its place `Square`)";
    check(&[
        ("tagged", r#"{"p":{}}"#, &[name, kind]),
        ("tagged", r#"{"p":{"name":"x"}}"#, &[kind]),
        ("tagged", r#"{"p":{"name":"x","kind":"Circle"}}"#, &[radius]),
        (
            "tagged",
            r#"{"p":{"name":"x","kind":"Circl"}}"#,
            &["`p.kind` must be one of \"Circle\", \"Square\", got the string \"Circl\"; did you mean \"Circle\"?"],
        ),
        (
            "tagged",
            r#"{"p":{"name":"x","kind":"Circle","side":1}}"#,
            &[radius, "`p.side` is not a field; the fields are `name`, `kind`, `radius`"],
        ),
        ("keyed", r#"{"p":{}}"#, &[name, key]),
        ("keyed", r#"{"p":{"name":"x"}}"#, &[key]),
        (
            "keyed",
            r#"{"p":{"name":"x","Circle":{}}}"#,
            &["missing required field `p.Circle.radius` (number)"],
        ),
        (
            "keyed",
            r#"{"p":{"name":"x","Circl":{"radius":1}}}"#,
            &[
                "`p.Circl` is not a field; did you mean `Circle`? The fields are `name`, `Circle`, `Square`",
                key,
            ],
        ),
        (
            "untagged",
            r#"{"p":{"name":"x","side":1}}"#,
            &["missing required field `p.edge` (integer)"],
        ),
    ])
    .await;
    let whole = r#"{"p":{"name":"x","kind":"Square","side":1}}"#;
    assert_eq!(toolbox().call(ToolCall::new("1", "tagged", whole)).await.text(), "x");
}
