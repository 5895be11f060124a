//! How does one agent hand work to another?
//!
//! Two agents become tools of a third. The editor asks both at once; what it may not call, they may
//! not either; what happens below arrives in the same stream of events. Scripted models play the
//! parts, so it runs anywhere.
//!
//! `cargo run -p toolbox-examples --example subagents`

#![allow(
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    reason = "an example shows what it does"
)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolbox::agent::{Agent, EventKind};
use toolbox::model::ModelRequest;
use toolbox::testing::ScriptedModel;
use toolbox::{tool, tools};

const CITIES: &str = include_str!("basics/data/cities.json");

/// Looks up how many people live in a city.
#[tool(read_only)]
fn population(
    /// The city's English name
    city: &str,
) -> Result<u64, String> {
    let cities: Vec<serde_json::Value> =
        serde_json::from_str(CITIES).map_err(|error| error.to_string())?;
    cities
        .iter()
        .find(|entry| entry["name"] == city)
        .and_then(|entry| entry["population"].as_u64())
        .ok_or_else(|| format!("city not found: {city}"))
}

/// Publishes a text for all to see.
#[tool(destructive)]
fn publish(text: &str) -> String {
    format!("published {} bytes", text.len())
}

/// The input and the output of the critic.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Draft {
    /// The text to judge
    text: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Verdict {
    /// From 0 to 10
    score: u8,
    advice: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let researcher = Agent::builder(researcher_model())
        .system("You find facts with your tools, and publish nothing.")
        .tools(tools![population, publish])
        .build()?;
    let critic = Agent::builder(critic_model()).system("You judge drafts.").build()?;

    let editor = Agent::builder(editor_model())
        .name("editor")
        .add_subagent(researcher.as_tool("researcher", "Finds facts; give it one question"))
        // With types of its own: its arguments are a `Draft`, its result is a `Verdict`, both
        // checked.
        .add_subagent(critic.as_typed_tool::<Draft, Verdict>("critic", "Judges a draft"))
        // Holds for the editor and for every agent below it, whatever box they brought along.
        .blacklist_tool("publish")
        .build()?;

    let mut events = editor.run("Write one sentence about Tokyo.").events();
    while let Some(event) = events.next().await {
        let indent = "  ".repeat(event.depth());
        match event.kind {
            EventKind::ToolStarted { tool, arguments, .. } => {
                println!("{indent}{tool} {arguments}");
            }
            EventKind::ToolFinished(end) => println!("{indent}{} -> {}", end.tool, end.preview),
            EventKind::ToolRefused { tool, code, .. } => {
                println!("{indent}({tool} is refused: {code})");
            }
            _ => {}
        }
    }
    let outcome = events.outcome().await?;
    println!("\n{} ({} iterations)", outcome.content, outcome.iterations);
    Ok(())
}

/// Repeats the last result.
fn last_result(request: &ModelRequest) -> String {
    let step = request.history.steps().next_back();
    step.and_then(|step| step.results().last()).map_or_else(String::new, |r| r.text().into_owned())
}

fn researcher_model() -> ScriptedModel {
    ScriptedModel::new()
        .calls_all([("population", r#"{"city":"Tokyo"}"#), ("publish", r#"{"text":"Tokyo!"}"#)])
        .text("About 14 million people live in Tokyo.")
}

fn critic_model() -> ScriptedModel {
    ScriptedModel::new()
        // Out of range and incomplete: the tool for the answer says so, and the model corrects
        // itself.
        .calls("final_answer", r#"{"score":900}"#)
        .calls("final_answer", r#"{"score":8,"advice":"Say where the figure is from."}"#)
}

fn editor_model() -> ScriptedModel {
    ScriptedModel::new()
        .calls("researcher", r#"{"task":"How many people live in Tokyo?"}"#)
        .respond(|request| {
            let draft = Draft { text: last_result(request) };
            let arguments = serde_json::to_value(&draft).unwrap_or_default();
            let call = toolbox::ToolCall::new("c2", "critic", arguments);
            Ok(toolbox::model::Reply::calls([call]).into())
        })
        .text("Tokyo, by its own count, is home to about 14 million people.")
}
