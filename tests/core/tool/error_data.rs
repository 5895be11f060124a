//! Data that a failure gives to programs, beside the text that the model reads.

use crate::bounded::tokio;
use std::fmt;

use serde::Serialize;
use serde_json::json;
use toolbox::agent::{Agent, EventKind};
use toolbox::call::{Arguments, FailureKind, StructuredError};
use toolbox::search::Gateway;
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolCall, ToolError, ToolResult, tool, tools, toolset};

#[derive(Debug, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
enum BankError {
    TooLittle { balance: u32 },
    Closed,
}

impl fmt::Display for BankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLittle { balance } => write!(f, "there are only {balance}"),
            Self::Closed => f.write_str("the bank is closed"),
        }
    }
}

impl std::error::Error for BankError {}

impl StructuredError for BankError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::TooLittle { .. } => FailureKind::Reported,
            Self::Closed => FailureKind::Infrastructure,
        }
    }
}

/// Pays out.
#[tool]
fn pay(sum: u32) -> Result<u32, BankError> {
    if sum == 0 { Err(BankError::Closed) } else { Err(BankError::TooLittle { balance: 3 }) }
}

/// Pays out later.
#[tool]
async fn pay_later(sum: u32) -> Result<String, BankError> {
    tokio::task::yield_now().await;
    pay(sum).map(|sum| sum.to_string())
}

/// The balance of a bank.
struct Bank(u32);

#[derive(serde::Deserialize)]
struct Sum {
    sum: u32,
}

#[toolset]
impl Bank {
    /// Pays out by hand.
    #[tool]
    fn pay_by_hand(&self, sum: u32) -> Result<(), BankError> {
        if sum > 0 { Err(BankError::TooLittle { balance: self.0 }) } else { pay(sum).map(drop) }
    }
}

/// Books a seat.
#[tool]
fn book(sum: u32) -> Result<(), ToolError> {
    if sum == 0 {
        return Err(
            ToolError::infrastructure(std::io::Error::other("down")).with_data(json!("later"))
        );
    }
    Err(ToolError::reported("taken").with_data(json!({"free": [1, 2], "retryable": true})))
}

/// Fails with a word.
#[tool]
fn plain(sum: u32) -> Result<(), String> {
    Err(format!("no {sum}"))
}

/// Fails with more data than a result holds.
#[tool]
fn verbose(sum: u32) -> Result<(), ToolError> {
    Err(ToolError::reported("long").with_data("x".repeat(sum as usize)))
}

fn toolbox() -> ToolBox {
    let schema = json!({"type": "object", "properties": {"sum": {"type": "integer"}}});
    let by_closure = Tool::raw("by_closure", "Pays out.", schema, async |arguments: Arguments| {
        pay(arguments.parse::<Sum>().map_or(0, |given| given.sum))
    });
    let toolbox = ToolBox::from(tools![pay, pay_later, book, plain, verbose]);
    toolbox.register(Bank(3));
    toolbox.register(by_closure);
    toolbox
}

#[tokio::test]
async fn a_failure_gives_its_data_to_programs_and_its_text_to_the_model() {
    let little = || Some(json!({"code": "too_little", "balance": 3}));
    let closed = || Some(json!({"code": "closed"}));
    let (reported, broken) = (FailureKind::Reported, FailureKind::Infrastructure);
    let cases = [
        ("pay", 1, "there are only 3", reported, little()),
        ("pay", 0, "the bank is closed", broken, closed()),
        ("pay_later", 1, "there are only 3", reported, little()),
        ("pay_by_hand", 0, "the bank is closed", broken, closed()),
        ("by_closure", 1, "there are only 3", reported, little()),
        ("book", 1, "taken", reported, Some(json!({"free": [1, 2], "retryable": true}))),
        ("book", 0, "down", broken, Some(json!("later"))),
        ("plain", 1, "no 1", reported, None),
        ("verbose", 9, "long", reported, Some(json!("xxxxxxxxx"))),
    ];
    let direct = toolbox();
    let gateway = ToolBox::from(Gateway::over(&direct));
    for (name, sum, text, kind, data) in cases {
        let arguments = json!({"sum": sum}).to_string();
        let through = json!({"name": name, "arguments": arguments}).to_string();
        for (toolbox, called, arguments) in
            [(&direct, name, arguments), (&gateway, "toolbox_execute", through)]
        {
            let result = toolbox.call(ToolCall::new("1", called, arguments)).await;
            assert_eq!(result.text(), text, "{name} by {called}");
            assert_eq!(result.failure_kind(), Some(kind), "{name} by {called}");
            assert_eq!(result.error_data(), data.as_ref(), "{name} by {called}");
            assert_eq!(result.structured_content(), data, "{name} by {called}");
        }
    }
    let fine = ToolResult::new("fine").with_structured_content(json!({"a": 1}));
    assert_eq!((fine.error_data(), fine.structured_content()), (None, Some(json!({"a": 1}))));
}

#[tokio::test]
async fn data_beyond_the_limit_of_a_result_is_left_out() {
    let toolbox =
        ToolBox::builder().tools(toolbox().tools()).max_result_bytes(100).build().expect("a box");
    for (bytes, fits) in [(90, true), (200, false)] {
        let arguments = json!({"sum": bytes}).to_string();
        let result = toolbox.call(ToolCall::new("1", "verbose", arguments)).await;
        assert_eq!((result.text().as_ref(), result.error_data().is_some()), ("long", fits));
        assert_eq!(result.omitted_bytes() > 0, !fits);
    }
}

#[tokio::test]
async fn the_source_of_a_structured_error_is_kept() {
    let result = toolbox().call(ToolCall::new("1", "pay", r#"{"sum":1}"#)).await;
    assert_eq!(result.source().expect("a source").to_string(), "there are only 3");
}

#[tokio::test]
async fn events_of_an_agent_hold_the_data() {
    let model = ScriptedModel::new()
        .calls_all([("pay", r#"{"sum":1}"#), ("plain", r#"{"sum":2}"#)])
        .text("done");
    let agent = Agent::builder(model).tools(toolbox().tools()).build().expect("an agent");
    let mut events = agent.run("go").events();
    let mut heard = Vec::new();
    while let Some(event) = events.next().await {
        if let EventKind::ToolFinished(finished) = event.kind {
            heard.push((finished.tool, finished.error_data));
        }
    }
    heard.sort_by(|one, other| one.0.cmp(&other.0));
    let little = json!({"code": "too_little", "balance": 3});
    assert_eq!(heard, [("pay".to_owned(), Some(little)), ("plain".to_owned(), None)]);
}
