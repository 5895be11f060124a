//! How do I get a value of my own type out of a text?
//!
//! The model's answer is read as the type before the run takes it. What serde or a check of your
//! own refuses, the model is told with its path, and tries again: three times, unless the agent
//! says otherwise.
//!
//! `cargo run -p toolbox-examples --example extraction`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::agent::{Agent, ExtractError};
use toolbox::testing::{ScriptedModel, rendered};

#[derive(Debug, Deserialize, JsonSchema)]
struct Invoice {
    customer: String,
    items: Vec<Item>,
    currency: Currency,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Item {
    what: String,
    price: Cents,
}

#[derive(Debug, Deserialize, JsonSchema)]
enum Currency {
    Eur,
    Usd,
}

/// A price in cents, more than zero.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
struct Cents(i64);

impl TryFrom<i64> for Cents {
    type Error = String;

    fn try_from(cents: i64) -> Result<Self, String> {
        if cents > 0 {
            Ok(Self(cents))
        } else {
            Err(format!("{cents} is no price: it must be more than zero"))
        }
    }
}

const MAIL: &str = "Dear Ann, here is your loom (450 euros) and the cards (12.50). Yours, Bo";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The short way: a value, or an error.
    let agent = Agent::builder(clerk()).system("You read invoices out of mails.").build()?;
    let invoice: Invoice = agent.extract(MAIL).await?;
    let total: i64 = invoice.items.iter().map(|item| item.price.0).sum();
    println!("{} pays {total} cents ({:?}) for:", invoice.customer, invoice.currency);
    for item in &invoice.items {
        println!("  {}", item.what);
    }

    // The long way: the outcome, with the transcript.
    let agent = Agent::builder(clerk()).build()?;
    let outcome = agent.run(MAIL).answering_with::<Invoice>().await?;
    println!("\n{}", rendered(&outcome.history));
    println!("{} items\n", outcome.answer_as::<Invoice>()?.items.len());

    // A model that never gives one is not asked for ever.
    let agent = Agent::builder(ScriptedModel::answering("I would rather not.")).build()?;
    match agent.extract::<Invoice>(MAIL).await {
        Err(ExtractError::Stopped(outcome)) => {
            println!("stopped after {} replies: {}", outcome.iterations, outcome.reason);
        }
        other => println!("unexpected: {other:?}"),
    }
    Ok(())
}

/// Stands in for a model: first a price that the type refuses, then all of it, written down in a
/// fence.
fn clerk() -> ScriptedModel {
    let invoice = |price: &str| {
        format!(
            r#"{{"customer":"Ann","currency":"Eur","items":[{{"what":"loom","price":45000}},{{"what":"cards","price":{price}}}]}}"#
        )
    };
    ScriptedModel::new()
        .calls("final_answer", invoice("0"))
        .text(format!("Here it is:\n\n```json\n{}\n```", invoice("1250")))
}
