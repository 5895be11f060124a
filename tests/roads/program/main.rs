//! Walks one of the roads of ARCHITECTURE.md, for callgrind: `road NAME`.
//!
//! The rounds between [`begin_measurement`] and [`end_measurement`] are counted, the ones before
//! warm up. Calls and replies are made before the first round, and results are looked at after the
//! last, so that nothing but the road is counted.

mod agent;
mod mcp;

use std::hint::black_box;

use serde_json::{Value, json};
use toolbox::call::Arguments;
use toolbox::durable::Journal;
use toolbox::search::Catalog;
use toolbox::{Tool, ToolBox, ToolCall, ToolDefinition, tool, tools};

/// The rounds that are not counted.
const WARM: usize = 8;
/// The rounds that are counted.
const ROUNDS: usize = 64;

/// Predicts the weather.
#[tool]
fn forecast(
    /// The city
    city: &str,
    /// The number of days
    days: u32,
) -> String {
    format!("{city}: {days} days of rain")
}

/// Predicts the weather, with values that only the schema bounds.
#[tool]
fn bounded(
    /// The city
    #[arg(length = 2..=40)]
    city: &str,
    /// The number of days
    #[arg(range = 1..=14)]
    days: u32,
) -> String {
    format!("{city}: {days} days of rain")
}

/// Predicts the weather, recorded.
#[tool(durable)]
fn recorded(
    /// The city
    city: &str,
    /// The number of days
    days: u32,
) -> String {
    format!("{city}: {days} days of rain")
}

/// Predicts the weather, by a schema and not by types.
fn raw() -> Tool {
    let schema = json!({"type": "object", "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"}}});
    Tool::raw("raw", "Predicts the weather.", schema, |_: Arguments| RESULT)
}

/// As models write them: in the order of the schema, and without blanks.
const ARGUMENTS: &str = r#"{"city":"Bergen","days":3}"#;
const RESULT: &str = "Bergen: 3 days of rain";

/// Zeroes the counters: callgrind knows it by its name.
#[inline(never)]
fn begin_measurement() {
    black_box(0);
}

/// Writes the counters out: callgrind knows it by its name.
#[inline(never)]
fn end_measurement() {
    black_box(1);
}

/// Marks the round with this number.
fn mark(round: usize) {
    if round == WARM {
        begin_measurement();
    } else if round == WARM + ROUNDS {
        end_measurement();
    }
}

/// Makes a call in each round.
async fn call(tool: &str, toolbox: ToolBox) {
    let mut calls = vec![ToolCall::new("call_1", tool, ARGUMENTS); WARM + ROUNDS];
    let mut results = Vec::with_capacity(calls.len());
    for round in 0..calls.len() {
        mark(round);
        let call = calls.pop().expect("a call for each round");
        results.push(toolbox.call(call).await);
    }
    mark(WARM + ROUNDS);
    assert!(results.iter().all(|result| result.text() == RESULT), "{results:?}");
}

fn search() {
    let lines = |text: &'static str| {
        text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"))
    };
    let catalog = Catalog::new();
    let tools = lines(include_str!("../../../examples/data/retrieval/tools.jsonl"));
    catalog.extend(tools.map(|tool| {
        let text = |member: &str| tool[member].as_str().expect("a text").to_owned();
        ToolDefinition::new(text("name"), text("description"), tool["input_schema"].clone())
    }));
    let queries = lines(include_str!("../../../examples/data/retrieval/queries.jsonl"))
        .map(|query| query["query"].as_str().expect("a text").to_owned())
        .collect::<Vec<_>>();
    let mut found = Vec::with_capacity(WARM + ROUNDS);
    for round in 0..WARM + ROUNDS {
        mark(round);
        found.push(catalog.search(&queries[round % queries.len()]).limit(5).hits());
    }
    mark(WARM + ROUNDS);
    // A few of the texts ask for nothing that is there.
    assert!(found.iter().filter(|hits| !hits.is_empty()).count() > ROUNDS / 2);
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("call") => call("forecast", ToolBox::from(tools![forecast])).await,
        Some("bounded") => call("bounded", ToolBox::from(tools![bounded])).await,
        Some("raw") => call("raw", ToolBox::from_iter([raw()])).await,
        Some("agent") => agent::walk().await,
        Some("search") => search(),
        Some("frame") => mcp::frames().await,
        Some("http") => mcp::requests().await,
        Some("durable") => {
            let journal = Journal::in_memory().expect("a journal in memory");
            let toolbox = ToolBox::builder().tools(tools![recorded]).journal(&journal).build();
            call("recorded", toolbox.expect("a box")).await;
        }
        other => panic!("no road is named {other:?}"),
    }
}
