//! This framework.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use toolbox::agent::{Agent, EventKind};
use toolbox::model::Delta;
use toolbox::provider::OpenAi;
use toolbox::{ToolBox, tool, tools};

use super::{SYSTEM, since};

/// Adds two numbers.
#[tool]
async fn add(
    /// One.
    a: i64,
    /// Another.
    b: i64,
) -> i64 {
    a + b
}

static AGENT: OnceLock<Agent> = OnceLock::new();

fn agent(url: &str, model: &str) -> Agent {
    let model = OpenAi::new("key", model).base_url(url);
    let toolbox = ToolBox::from(tools![add]);
    let agent = Agent::builder(model).system(SYSTEM).toolbox(toolbox).no_repeat_limit();
    agent.build().expect("an agent")
}

pub async fn run(url: &str) -> String {
    let heard = Arc::new(Mutex::new(String::new()));
    let listener = heard.clone();
    let agent = AGENT.get_or_init(|| agent(url, "rounds"));
    let run = agent.run("How much is 2 and 3?").on_event(move |event| {
        if let EventKind::Delta(Delta::Text(text)) = event.kind {
            listener.lock().expect("no panic").push_str(&text);
        }
    });
    let answer = run.await.expect("an answer").content;
    assert_eq!(*heard.lock().expect("no panic"), answer);
    answer
}

pub async fn deltas(url: &str) -> Vec<Duration> {
    let times = Arc::new(Mutex::new(Vec::new()));
    let listener = times.clone();
    let run = agent(url, "pieces").run("Go on.").on_event(move |event| {
        if let EventKind::Delta(Delta::Text(text)) = event.kind {
            listener.lock().expect("no panic").extend(since(&text));
        }
    });
    run.await.expect("an answer");
    std::mem::take(&mut *times.lock().expect("no panic"))
}
