//! How does one agent give a conversation to another?
//!
//! The first agent sorts requests, and hands each to the agent that knows about it. That one goes on
//! in the same run, reads what was said, and may hand it back; the outcome says who answered.
//!
//! `cargo run -p toolbox-examples --example triage`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use toolbox::agent::{Agent, EventKind, Handoff};
use toolbox::testing::ScriptedModel;
use toolbox::{tool, tools};

/// Returns the charges of an order.
#[tool(read_only)]
fn charges(order: u32) -> Vec<String> {
    vec![format!("order {order}: 20.00 on May 3"), format!("order {order}: 20.00 on May 4")]
}

/// Refunds a charge of an order.
#[tool]
fn refund(order: u32, cents: u32) -> String {
    format!("refunded {cents} cents of order {order}")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let billing = Agent::builder(billing_model())
        .name("billing")
        .system("You answer questions about charges, and refund what was charged twice.")
        .tools(tools![charges, refund])
        .build()?;
    // This one sees nothing of what was said before but a note.
    let archive = Agent::builder(ScriptedModel::answering("Filed."))
        .name("archive")
        .system("You file notes.")
        .build()?;
    let triage = Agent::builder(triage_model())
        .name("triage")
        .system("You find out who can help, and hand the conversation over.")
        .handoff(Handoff::to(&billing).described("For charges and refunds."))
        .handoff(Handoff::to(&archive).described("For notes.").without_history())
        .max_handoffs(4)
        .build()?;
    // Both exist by now, so the way back is added to the box.
    billing.toolbox().register(Handoff::to(&triage).into_tool()?);

    for question in ["I was charged twice for order 7.", "Note that I moved to Bonn."] {
        let run = triage.run(question).on_event(|event| {
            let who = event.path.join("/");
            match event.kind {
                EventKind::HandedOver { to } => println!("   {who} hands over to {to}"),
                EventKind::ToolFinished(end) => println!("   {who} called {}", end.tool),
                _ => {}
            }
        });
        let outcome = run.await?;
        println!("{question}\n   {}: {}\n", outcome.agent, outcome.content);
    }
    Ok(())
}

fn triage_model() -> ScriptedModel {
    ScriptedModel::new()
        .calls("transfer_to_billing", "{}")
        .calls("transfer_to_archive", r#"{"task": "The customer moved to Bonn."}"#)
}

fn billing_model() -> ScriptedModel {
    ScriptedModel::new()
        .calls("charges", r#"{"order": 7}"#)
        .calls("refund", r#"{"order": 7, "cents": 2000}"#)
        .text("You were charged twice; 20.00 are on their way back.")
}
