//! The same agent in each framework: one tool, `add`, and a listener to what is streamed.

use std::time::Duration;

use crate::service::now;

mod by_hand;
mod rig;
mod toolbox;

pub const CLIENTS: [&str; 3] = ["toolbox", "rig", "by-hand"];

const SYSTEM: &str = "You add numbers with the tool.";

/// Runs the agent once, and returns the answer.
pub async fn run(client: String, url: String) -> String {
    match &*client {
        "toolbox" => toolbox::run(&url).await,
        "rig" => rig::run(&url).await,
        _ => by_hand::run(&url).await,
    }
}

/// Returns the times from each piece of one reply to its delta.
pub async fn deltas(client: &str, url: &str) -> Vec<Duration> {
    match client {
        "toolbox" => toolbox::deltas(url).await,
        "rig" => rig::deltas(url).await,
        _ => by_hand::deltas(url).await,
    }
}

/// Returns the times since the pieces in a text were written.
fn since(text: &str) -> impl Iterator<Item = Duration> {
    let now = now();
    text.split_whitespace().map(move |written| {
        let written: u128 = written.parse().expect("nanoseconds");
        Duration::from_nanos(u64::try_from(now.saturating_sub(written)).expect("short"))
    })
}
