//! Names that are data, echoes that leak nothing, and many mutated inputs.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolbox::{Tool, ToolBox, ToolCall, tool};

use crate::arguments::reading::every_way;
use support::{Dice, call, echo, now};

#[test]
fn odd_names_are_plain_data() {
    /// Takes anything by any name.
    #[tool]
    fn bag(bag: HashMap<String, i32>) -> String {
        let mut names: Vec<_> = bag.into_keys().collect();
        names.sort();
        names.join("|")
    }
    let odd =
        ["__proto__", "$ref", "type", "fn", "", "a.b", "constructor", "é", "\u{0}", "r#fn", "a b"];
    for name in odd {
        let text = json!({"bag": {name: 1}}).to_string();
        assert_eq!(call(&bag::tool(), text).text(), name);
        let schema = json!({"type": "object", "properties": {name: {"type": "integer"}}, "required": [name], "additionalProperties": false});
        let raw = Tool::raw("raw", "", schema, |args: toolbox::call::Arguments| args.into_string());
        let text = json!({name: 1}).to_string();
        assert_eq!(call(&raw, text.as_str()).text(), text);
        assert!(call(&raw, json!({name: "x"}).to_string()).is_error());
        assert!(call(&raw, "{}").is_error());
    }
    /// Takes what Rust calls by raw identifiers.
    #[tool]
    fn words(r#type: &str, r#fn: i32, #[arg(rename = "self")] own: Option<&str>) -> String {
        format!("{type} {fn} {own:?}")
    }
    let result = call(&words::tool(), r#"{"type":"a","fn":1,"self":"b"}"#);
    assert_eq!(result.text(), r#"a 1 Some("b")"#);
}

#[test]
fn an_echo_is_short_clean_and_keeps_secrets() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only read")]
    struct Login {
        user: i32,
        #[schemars(extend("writeOnly" = true))]
        token: i32,
        #[schemars(extend("format" = "password"))]
        password: i32,
    }
    let tool = Tool::from_fn("login", "", |_: Login| "in");
    let secret = "hunter2-hunter2";
    let cases = [
        json!({"user": "x".repeat(500_000), "token": secret, "password": secret}),
        json!({"user": "\u{1b}[31mred\u{1b}[0m\u{7}\u{202e}", "token": [secret], "password": {"a": secret}}),
        json!({"user": "a\nb\r\0", "token": format!("{secret}\u{1b}"), "password": secret}),
        json!({"user": 1, "token": secret, "password": "1", secret.repeat(9_000): 1}),
    ];
    for arguments in cases {
        let result = call(&tool, &arguments);
        let text = result.text();
        assert!(result.is_error() && text.len() <= 2048, "{} bytes", text.len());
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert!(!text.contains('\u{202e}'));
        let own = arguments.as_object().map(Map::len) == Some(4);
        assert!(own || !text.contains(secret), "{text}");
        assert!(text.contains("***"), "{text}");
        let logged = result.source().map(ToString::to_string).unwrap_or_default();
        assert!(own || !logged.contains(secret), "{logged}");
    }
    let repaired = call(&tool, r#"{"user":"1","token":"2222","password":"3333"}"#);
    let notes = format!("{:?}", repaired.repairs());
    assert!(!repaired.is_error() && !notes.contains("2222") && !notes.contains("3333"), "{notes}");
    let cut = call(&tool, format!(r#"{{"user":1,"token":"{secret}"#));
    assert!(!cut.text().contains(secret), "{}", cut.text());
}

#[test]
fn a_call_with_broken_arguments_can_be_written_and_read_again() {
    // A transcript stores the call as it came; its arguments are a JSON string whatever they hold.
    for text in ["{", "\u{0}\"", "{\"a\":\"rm", "", "\u{feff}", "[1,]"] {
        let call = ToolCall::new("1", "echo", text);
        let stored = serde_json::to_string(&call).unwrap();
        let read: ToolCall = serde_json::from_str(&stored).unwrap();
        assert_eq!(read.arguments.as_str(), text);
        let result = now(ToolBox::from(echo()).call(read));
        let stored = serde_json::to_string(&result).unwrap();
        assert!(serde_json::from_str::<Value>(&stored).is_ok());
    }
}

/// Whole documents, and pieces that break them.
const SEEDS: &[&str] = &[
    r#"{"s":"a","n":5,"list":[1,2,3],"any":{"a":[{"b":null}]}}"#,
    r#"{"s":"\ud83d\ude00 \u0041\n","n":-3.0e1,"list":[],"any":{}}"#,
    r#""{\"n\":\"5\",\"list\":\"[1]\"}""#,
    "```json\n{\"n\": 1}\n```",
    "{\"any\":{\"any\":{\"any\":[[[{}]]]}}}",
    "",
];

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "'",
    "a",
    "\"n\"",
    "\"s\":",
    "0",
    "-",
    ".",
    "e9",
    "1e400",
    "null",
    "true",
    "\n",
    "\u{0}",
    "\u{feff}",
    "```",
    "\\u",
    "\\ud83d",
    "é",
    "😀",
    "//",
    "<|",
    " ",
    "\"\":",
    "99999999999999999999",
];

#[test]
fn mutated_inputs_are_all_answered() {
    let rounds = if cfg!(debug_assertions) { 20_000 } else { 200_000 };
    let toolbox = ToolBox::from(every_way());
    let names = toolbox.names();
    let mut dice = Dice(0x00c0_ffee);
    let mut taken = 0;
    for round in 0..rounds {
        let mut text: Vec<char> = SEEDS[dice.below(SEEDS.len())].chars().collect();
        for _ in 0..dice.below(5) {
            let at = dice.below(text.len() + 1);
            let end = (at + dice.below(4)).min(text.len());
            let piece = PIECES[dice.below(PIECES.len())];
            text.splice(at..end, piece.chars());
        }
        let text: String = text.into_iter().collect();
        let name = &names[round % names.len()];
        let result = now(toolbox.call(ToolCall::new("id", name, &*text)));
        assert_eq!(result.call_id(), "id");
        let code = result.code().unwrap_or("args.");
        assert!(code.starts_with("args."), "{name} on {text:?}: {result:?}");
        taken += usize::from(!result.is_error());
    }
    assert!(taken > rounds / 20 && taken < rounds / 2, "{taken} of {rounds} were taken");
}
