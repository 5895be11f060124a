//! How does an agent get at my database, and at who is asking?
//!
//! The database belongs to the agent, the customer to the run; the model sees neither. The answer
//! is a type of the program, and a person is asked before a card is blocked.
//!
//! `cargo run -p toolbox-examples --example bank_support`

#![allow(
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    reason = "an example shows what it does"
)]

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::agent::Agent;
use toolbox::context::{ApprovalRequest, Decision};
use toolbox::testing::ScriptedModel;
use toolbox::{State, ToolContext, tool, tools};

/// The program's database: one for all runs.
struct Accounts(HashMap<u32, i64>);

/// The customer who asks, different in each run.
#[derive(Clone, Copy)]
struct Customer(u32);

/// Returns the customer's balance, in cents.
#[tool(read_only)]
fn balance(
    /// Also counts what is not booked yet
    #[arg(default)]
    with_pending: bool,
    accounts: State<Accounts>,
    customer: State<Customer>,
) -> Result<i64, String> {
    let booked = accounts.0.get(&customer.0).ok_or("the customer has no account")?;
    Ok(if with_pending { booked - 2_500 } else { *booked })
}

/// Blocks the customer's card.
#[tool(destructive, approval)]
fn block_card(customer: State<Customer>) -> String {
    format!("card of customer {} blocked", customer.0)
}

/// The answer of the run, as a type of the program.
#[derive(Debug, Deserialize, JsonSchema)]
struct Advice {
    /// Text for the customer
    answer: String,
    card_blocked: bool,
    /// From 0 to 10
    #[schemars(range(min = 0, max = 10))]
    risk: u8,
}

async fn clerk(request: ApprovalRequest) -> Decision {
    println!("  a clerk is asked about `{}` and agrees", request.tool_name());
    Decision::Approve
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let build = |model: ScriptedModel| {
        Agent::builder(model)
            .system("You support the customers of a bank.")
            .tools(tools![balance, block_card])
            .state(Accounts(HashMap::from([(123, 12_345)])))
            // Without this line, the agent would not be built: nobody would say who is asking.
            .call_state::<Customer>()
            .approver(clerk)
            .build()
    };
    let questions = [("What is my balance?", balance_model()), ("I lost my card!", card_model())];
    for (question, model) in questions {
        println!("{question}");
        let context = ToolContext::new().with(Customer(123));
        let advice: Advice = build(model)?.run(question).in_context(context).extract().await?;
        println!("  {} (blocked: {}, risk {})", advice.answer, advice.card_blocked, advice.risk);
    }

    let error = Agent::builder(balance_model()).tools(tools![balance]).build();
    println!("\n{}", error.map_or_else(|error| error.to_string(), |_| "nothing is missing".into()));
    Ok(())
}

fn balance_model() -> ScriptedModel {
    ScriptedModel::new().calls("balance", r#"{"with_pending":true}"#).calls(
        "final_answer",
        r#"{"answer":"Your balance is 98.45 euros.","card_blocked":false,"risk":1}"#,
    )
}

fn card_model() -> ScriptedModel {
    ScriptedModel::new()
        .calls("block_card", "{}")
        .calls("final_answer", r#"{"answer":"Your card is blocked.","card_blocked":true,"risk":8}"#)
}
