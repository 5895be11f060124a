//! How does an agent look while it works?
//!
//! Draws a live trace of a run: what the model writes, the calls it makes, what came of them and
//! how long they took. With a key or a base URL in the environment it asks that service; without, a
//! scripted model plays its part.
//!
//! ```sh
//! cargo run -p toolbox-examples-live --example agent                                                  # scripted
//! OPENAI_API_KEY=... cargo run -p toolbox-examples-live --example agent -- "How far is Oslo from Rome?"
//! OPENAI_BASE_URL=http://127.0.0.1:11434/v1 MODEL=qwen3 cargo run -p toolbox-examples-live --example agent  # any compatible server
//! ANTHROPIC_API_KEY=... MODEL=claude-sonnet-4-5 cargo run -p toolbox-examples-live --example agent
//! GEMINI_API_KEY=... cargo run -p toolbox-examples-live --example agent
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::env;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolbox::agent::{Agent, EventKind, RunOutcome};
use toolbox::model::{Delta, Model, Reply};
use toolbox::provider::{Anthropic, Gemini, OpenAi};
use toolbox::testing::ScriptedModel;
use toolbox::{ToolCall, ToolContext, tool, tools};

const CITIES: &str = include_str!("../basics/data/cities.json");

fn city(name: &str) -> Result<Value, String> {
    let cities: Vec<Value> = serde_json::from_str(CITIES).map_err(|error| error.to_string())?;
    let named =
        |city: &Value| city["name"].as_str().is_some_and(|own| own.eq_ignore_ascii_case(name));
    cities.into_iter().find(named).ok_or_else(|| format!("city not found: {name}"))
}

/// Looks a city up: country, population, coordinates, time zone.
#[tool(read_only)]
fn find_city(
    /// The city's English name
    name: &str,
) -> Result<Value, String> {
    city(name)
}

/// Measures the way between two cities, as the crow flies, in kilometers.
#[tool(read_only)]
async fn distance(
    /// Start of the route
    from: String,
    /// End of the route
    to: String,
    context: &ToolContext,
) -> Result<f64, String> {
    let (from, to) = (city(&from)?, city(&to)?);
    context.report_progress(1.0, Some(2.0), "both cities found");
    tokio::time::sleep(Duration::from_millis(50)).await;
    let degrees = |city: &Value, axis: &str| city[axis].as_f64().unwrap_or_default().to_radians();
    let (from_lat, to_lat) = (degrees(&from, "latitude"), degrees(&to, "latitude"));
    let (dlat, dlon) = (to_lat - from_lat, degrees(&to, "longitude") - degrees(&from, "longitude"));
    let half =
        (dlat / 2.0).sin().powi(2) + from_lat.cos() * to_lat.cos() * (dlon / 2.0).sin().powi(2);
    Ok((6371.0 * 2.0 * half.sqrt().asin()).round())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder(model()?)
        .name("guide")
        .system("You answer questions about cities with your tools. Be brief.")
        .tools(tools![find_city, distance])
        .build()?;
    let question = env::args().nth(1).unwrap_or_else(|| "How far is Tokyo from Paris?".to_owned());
    println!("> {question}");
    let outcome = traced(&agent, &question).await?;
    println!(
        "\n[{} after {} iterations, {} tokens]",
        outcome.reason,
        outcome.iterations,
        outcome.usage.total_tokens()
    );
    Ok(())
}

/// Runs the agent and draws what happens.
async fn traced(agent: &Agent, question: &str) -> Result<RunOutcome, Box<dyn std::error::Error>> {
    let mut events = agent.run(question).events();
    while let Some(event) = events.next().await {
        let indent = "  ".repeat(event.depth());
        match event.kind {
            EventKind::Delta(Delta::Text(text)) => {
                print!("{text}");
                std::io::stdout().flush()?;
            }
            EventKind::ToolStarted { tool, arguments, .. } => {
                println!("{indent}* {tool} {arguments}");
            }
            EventKind::ToolProgress(progress) => {
                println!("{indent}  {} ...", progress.message.unwrap_or_default());
            }
            EventKind::ToolFinished(end) => {
                let mark = if end.is_error() { "!" } else { "=" };
                println!("{indent}{mark} {} ({} ms)", end.preview, end.took.as_millis());
            }
            EventKind::ModelFailed { kind, .. } => {
                println!("{indent}! the model failed: {}", kind.code());
            }
            _ => {}
        }
    }
    Ok(events.outcome().await?)
}

/// Returns the model that the environment asks for.
fn model() -> Result<Arc<dyn Model>, Box<dyn std::error::Error>> {
    let has = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let named = |default: &str| env::var("MODEL").unwrap_or_else(|_| default.to_owned());
    if has("OPENAI_API_KEY") || has("OPENAI_BASE_URL") {
        return Ok(Arc::new(OpenAi::from_env(named("gpt-4.1-mini"))?));
    }
    if has("ANTHROPIC_API_KEY") {
        return Ok(Arc::new(Anthropic::from_env(named("claude-sonnet-4-5"))?));
    }
    if has("GEMINI_API_KEY") {
        return Ok(Arc::new(Gemini::from_env(named("gemini-2.5-flash"))?));
    }
    println!("(no key in the environment: a scripted model plays its part)");
    Ok(Arc::new(
        ScriptedModel::new()
            .calls_all([
                ("find_city", r#"{"name":"Tokyo"}"#),
                ("distance", r#"{"from":"Tokyo","to":"Pariss"}"#),
            ])
            .respond(|_| {
                let arguments = r#"{"from":"Tokyo","to":"Paris"}"#;
                Ok(Reply::calls([ToolCall::new("call_3", "distance", arguments)]).into())
            })
            .respond(|request| {
                let step = request.history.steps().next_back();
                let way =
                    step.map_or_else(String::new, |step| step.results()[0].text().into_owned());
                Ok(format!("Tokyo is {way} km from Paris.").into())
            }),
    ))
}
