//! Whatever text a model sends: every call is answered, and what is accepted means what serde_json says it means.

#![no_main]

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use libfuzzer_sys::fuzz_target;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolbox::{ToolBox, ToolCall, ToolResult, tool, tools};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Plain,
    Pair(i8, u16),
    Named { text: String, next: Option<Box<Choice>> },
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Tagged {
    A { x: f64 },
    B { y: Vec<bool> },
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Everything {
    id: i64,
    small: Option<u8>,
    text: String,
    choice: Choice,
    tagged: Option<Tagged>,
    map: BTreeMap<String, i32>,
}

/// Takes everything.
#[tool]
fn typed(
    text: &str,
    maybe: Option<&str>,
    number: i64,
    #[arg(range = 0..=10, default = 3)] bounded: u32,
    words: &[String],
    everything: Vec<Everything>,
) -> String {
    serde_json::json!([text, maybe, number, bounded, words, everything]).to_string()
}

/// Takes any JSON.
#[tool]
fn any(value: Value) -> String {
    value.to_string()
}

static TOOLBOX: LazyLock<ToolBox> = LazyLock::new(|| ToolBox::from(tools![typed, any]));

/// The two tools never wait, so their first poll is their last.
fn call(name: &str, arguments: &str) -> ToolResult {
    let mut call = pin!(TOOLBOX.call(ToolCall::new("id", name, arguments)));
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("a synchronous tool waits"),
    }
}

fuzz_target!(|text: &str| {
    let result = call("typed", text);
    assert_eq!(result.call_id(), "id");
    assert!(result.text().len() <= 256 << 10);
    if !result.is_error() && result.repairs().is_empty() {
        let arguments: Value = serde_json::from_str(text).expect("accepted text is JSON");
        let got: Value = serde_json::from_str(&result.text()).expect("the tool writes JSON");
        assert_eq!(got[0], arguments["text"]);
        assert_eq!(got[2].as_f64(), arguments["number"].as_f64());
    }
    let result = call("any", text);
    if !result.is_error() && result.repairs().is_empty() {
        let arguments: Value = serde_json::from_str(text).expect("accepted text is JSON");
        let got: Value = serde_json::from_str(&result.text()).expect("a value is JSON");
        assert_eq!(got, arguments["value"]);
    }
});
