//! How does a tool work on after it answered?
//!
//! A background tool answers at once; its end arrives on the receiver that was given with the call, exactly once.
//!
//! `cargo run -p toolbox-basics --example background`

#![allow(
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    reason = "an example shows what it does"
)]

use std::time::Duration;

use tokio::sync::mpsc;
use toolbox::{ToolBox, ToolCall, ToolContext, tool, tools};

/// Builds a report; takes its time.
#[tool(background)]
async fn build_report(
    /// What it is about
    topic: String,
) -> Result<String, String> {
    tokio::time::sleep(Duration::from_millis(100)).await;
    if topic == "nothing" { Err("nothing to report".into()) } else { Ok(format!("all of {topic}")) }
}

#[tokio::main]
async fn main() {
    let toolbox = ToolBox::from(tools![build_report]);
    let (sender, mut completions) = mpsc::unbounded_channel();
    let context = ToolContext::new().with_completions(sender);
    let calls = ["sales", "nothing"]
        .map(|topic| ToolCall::new(topic, "build_report", format!(r#"{{"topic":"{topic}"}}"#)));
    for result in toolbox.call_all_in(&context, calls).await {
        println!("now:   {}: {}", result.call_id(), result.text());
    }
    drop(context);
    while let Some(completion) = completions.recv().await {
        println!("later: {}: {}", completion.job, completion.result.text());
    }
}
