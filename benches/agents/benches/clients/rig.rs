//! Rig.

use std::convert::Infallible;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::StreamExt as _;
use rig_agent::agent::{Agent, MultiTurnStreamItem};
use rig_agent::prelude::*;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::streaming::{Item, StreamEvent};
use rig_core::tool::{Tool, ToolContext};
use serde::Deserialize;
use serde_json::Value;

use super::{SYSTEM, since};

struct Add;

#[derive(Deserialize, schemars::JsonSchema)]
struct Arguments {
    /// One.
    a: i64,
    /// Another.
    b: i64,
}

impl Tool for Add {
    const NAME: &'static str = "add";
    type Args = Arguments;
    type Output = String;
    type Error = Infallible;

    fn description(&self) -> String {
        "Adds two numbers.".to_owned()
    }

    fn parameters(&self) -> Value {
        schemars::schema_for!(Arguments).to_value()
    }

    async fn call(&self, _: &mut ToolContext, of: Arguments) -> Result<String, Infallible> {
        Ok((of.a + of.b).to_string())
    }
}

static AGENT: OnceLock<Agent> = OnceLock::new();

fn agent(url: &str, model: &str) -> Agent {
    let service = OpenAIConfig::new("key").with_base_url(url).client();
    AgentBuilder::new(service.chat(model)).preamble(SYSTEM).tool(Add).build()
}

/// Runs an agent, hands each piece of text on, and returns the answer.
async fn streamed(agent: &Agent, prompt: &str, mut text: impl FnMut(&str)) -> String {
    let mut items = agent.prompt(prompt).max_turns(10).stream();
    let mut answer = String::new();
    while let Some(item) = items.next().await {
        match item.expect("no error") {
            MultiTurnStreamItem::StreamAssistantItem(Item::Event(StreamEvent::Text {
                text: piece,
                ..
            })) => text(&piece),
            MultiTurnStreamItem::FinalResponse(last) => answer = last.output().to_owned(),
            _ => {}
        }
    }
    answer
}

pub async fn run(url: &str) -> String {
    let mut heard = String::new();
    let agent = AGENT.get_or_init(|| agent(url, "rounds"));
    let answer = streamed(agent, "How much is 2 and 3?", |text| heard.push_str(text)).await;
    assert_eq!(heard, answer);
    answer
}

pub async fn deltas(url: &str) -> Vec<Duration> {
    let mut times = Vec::new();
    streamed(&agent(url, "pieces"), "Go on.", |text| times.extend(since(text))).await;
    times
}
