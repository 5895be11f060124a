//! How does a chat go on for ever?
//!
//! Each request has the newest turns alone: a turn is a message of the user with all that follows
//! it, calls and results too. What the user said first is pinned and stays.
//!
//! `cargo run -p toolbox-examples --example sliding_window`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use toolbox::agent::{Agent, ContextRule};
use toolbox::testing::ScriptedModel;
use toolbox::{History, tool, tools};

const QUESTIONS: u32 = 12;
const WINDOW: usize = 3;

/// Returns the state of an order.
#[tool]
fn order_state(number: u32) -> String {
    if number.is_multiple_of(3) {
        format!("Order {number} is on its way.")
    } else {
        format!("Order {number} arrived.")
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = scripted();
    let agent = Agent::builder(model.clone())
        .tools(tools![order_state])
        .context_rules([ContextRule::edit(|history, _| {
            history.keep_last_turns(WINDOW);
        })])
        .build()?;

    let mut history = History::from("I am Ada, customer 7. Keep answers short.");
    history.pin(0);
    history.push_reply("Yes, Ada.");
    for number in 1..=QUESTIONS {
        let run = agent.run(format!("Where is order {number}?")).with_history(history);
        let outcome = run.await?;
        let requests = model.requests();
        let newest = &requests[requests.len() - 1];
        println!(
            "{number:>2}: {:<28} {:>2} messages, {:>3} tokens",
            outcome.content,
            newest.history.len(),
            newest.tokens().total(),
        );
        history = outcome.history;
    }
    assert!(history.is_pinned(0), "the first message stays");
    Ok(())
}

/// A model that looks up each order, and says what it found.
fn scripted() -> ScriptedModel {
    (1..=QUESTIONS).fold(ScriptedModel::new(), |model, number| {
        let state = if number.is_multiple_of(3) { "It is on its way." } else { "It arrived." };
        model.calls("order_state", format!(r#"{{"number": {number}}}"#)).text(state)
    })
}
