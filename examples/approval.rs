//! How does a person decide whether a tool may run, even hours later?
//!
//! A rule approves small payments by itself and leaves the others to a person. The run stops there
//! and becomes JSON; what resumes it could be another process, on another day.
//!
//! `cargo run -p toolbox-examples --example approval`

#![allow(
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    reason = "an example shows what it does"
)]

use serde::Deserialize;
use toolbox::agent::{Agent, BuildAgentError, Paused, StopReason};
use toolbox::context::{ApprovalRequest, Decision};
use toolbox::testing::{ScriptedModel, rendered};
use toolbox::tool;

/// Sends money to somebody.
#[tool(destructive)]
fn pay(
    /// Recipient of the payment
    to: &str,
    /// Amount in cents
    #[arg(range = 1..=1_000_000)]
    cents: u64,
) -> String {
    format!("paid {cents} cents to {to}")
}

/// The arguments that the rule checks; it is called only for valid ones.
#[derive(Deserialize)]
struct Payment {
    cents: u64,
}

async fn small_is_fine(payment: Payment, _request: ApprovalRequest) -> Decision {
    if payment.cents <= 1_000 { Decision::Approve } else { Decision::Defer }
}

/// Both processes build the agent the same way; only what the model says differs here.
fn cashier(model: ScriptedModel) -> Result<Agent, BuildAgentError> {
    Agent::builder(model)
        .name("cashier")
        .add_tool(pay::tool().with_approval_rule(small_is_fine))
        .build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ScriptedModel::new().calls_all([
        ("pay", r#"{"to":"the baker","cents":450}"#),
        ("pay", r#"{"to":"the landlord","cents":90000}"#),
        ("pay", r#"{"to":"a stranger","cents":500000}"#),
        ("pay", r#"{"to":"nobody"}"#),
    ]);
    let outcome = cashier(model)?.run("Pay my bills.").await?;
    assert_eq!(outcome.reason, StopReason::ApprovalNeeded);
    let kept = serde_json::to_string(&outcome.paused)?;
    println!("the first process stops, and leaves {} bytes of JSON behind", kept.len());

    // Another process, another day.
    let paused: Option<Paused> = serde_json::from_str(&kept)?;
    let paused = paused.ok_or("nothing to resume")?;
    let mut decisions = Vec::new();
    for call in paused.pending() {
        println!("may `{}` run with {}?", call.tool, call.arguments);
        let decision = if call.arguments.as_str().contains("landlord") {
            Decision::Approve
        } else {
            Decision::Deny("we do not pay strangers".into())
        };
        println!("  {decision:?}");
        decisions.push((call.id, decision));
    }
    let model = ScriptedModel::answering("The baker and the landlord are paid.");
    let outcome = cashier(model)?.resume(paused, decisions).await?;
    println!("\n{}", rendered(&outcome.history));
    Ok(())
}
