//! How does a model get at a thousand tools with three in its requests?
//!
//! The tools behind the gateway are not in the list that is sent. The model searches, reads the
//! schema of what it found, and calls it. A scripted model asks what time it is in Tokyo.
//!
//! `cargo run -p toolbox-examples --example gateway`

#![allow(
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    reason = "an example shows what it does"
)]

use std::error::Error;

use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::call::Arguments;
use toolbox::dialect::Dialect;
use toolbox::model::Reply;
use toolbox::search::{EXECUTE, Gateway, SEARCH_WORDS};
use toolbox::testing::{ScriptedModel, rendered};
use toolbox::{Tool, ToolBox, ToolCall, tool};

/// Get current time in a specific timezone
#[tool(deferred, read_only)]
fn time_get_current_time(
    /// IANA timezone name (e.g. 'America/New_York')
    timezone: &str,
) -> Value {
    json!({"time": "2026-01-07T02:15:00+09:00", "timezone": timezone})
}

/// Says hello.
#[tool]
fn hello() -> &'static str {
    "hello"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let toolbox = ToolBox::from(toolbox::tools![hello, time_get_current_time]);
    // A hundred others that the model will not see either.
    for line in include_str!("data/retrieval/tools.jsonl").lines() {
        let tool: Value = serde_json::from_str(line)?;
        let text = |key: &str| tool[key].as_str().unwrap_or_default();
        let other = Tool::try_raw(
            text("name"),
            text("description"),
            tool["input_schema"].clone(),
            |_: Arguments| "done",
        );
        // Some names of the sample are none that tools may have.
        if let Ok(other) = other {
            toolbox.register(other.deferred());
        }
    }
    toolbox.register(Gateway::over(&toolbox));

    let list = toolbox.definitions_for(Dialect::OpenAiChat);
    let all: ToolBox = toolbox.tools().into_iter().collect();
    println!(
        "{} tools, of which the model is told {}:",
        toolbox.len(),
        toolbox.definitions().len()
    );
    for line in toolbox.summaries() {
        println!("  {line}");
    }
    println!(
        "{} bytes in each request; all of them would be {}",
        list.json().len(),
        everything(&all)
    );
    let own = ToolBox::from(Gateway::over(&toolbox));
    for dialect in [Dialect::OpenAiChat, Dialect::Anthropic, Dialect::Gemini] {
        println!(
            "{} of them for the gateway ({dialect:?})",
            own.definitions_for(dialect).json().len()
        );
    }
    let five = ToolCall::new("five", SEARCH_WORDS, r#"{"text":"book a hotel room","limit":5}"#);
    println!("{} in the reply to a search with five hits\n", toolbox.call(five).await.text().len());

    let model = ScriptedModel::new()
        .calls(SEARCH_WORDS, r#"{"text":"time timezone","limit":1}"#)
        .respond(|request| {
            let step = request.history.steps().next_back();
            let found = step.map_or_else(String::new, |step| step.results()[0].text().into_owned());
            let reply: Value = serde_json::from_str(&found).unwrap_or_default();
            let arguments = json!({"name": reply["tools"][0]["name"], "arguments": r#"{"timezone":"Asia/Tokyo"}"#});
            Ok(Reply::calls([ToolCall::new("call_2", EXECUTE, arguments)]).into())
        })
        .text("The current time in Tokyo is 2:15 AM on Jan 7, 2026");
    let agent = Agent::builder(model).toolbox(toolbox).build()?;
    let outcome = agent.run("What time is it in Tokyo?").await?;
    println!("{}", rendered(&outcome.history));
    Ok(())
}

/// Returns the size of a request with every definition in it, in bytes.
fn everything(toolbox: &ToolBox) -> usize {
    let lower = |tool: Tool| toolbox::dialect::lower(tool.definition(), Dialect::OpenAiChat);
    toolbox.tools().into_iter().map(|tool| lower(tool).tool.to_string().len() + 1).sum()
}
