//! How is what goes in and what comes out checked, and what is asked for in each step computed?
//!
//! A guard on the input runs beside the model and ends the run before any tool; a guard on the
//! output ends it before the answer is returned; a validator has the model answer again. A hook
//! before each step writes the instructions and narrows the tools.
//!
//! `cargo run -p toolbox-examples --example guardrails`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use toolbox::agent::{Agent, Checked, SharedBudget, StepRequest, UsageLimits, Verdict};
use toolbox::context::Principal;
use toolbox::testing::ScriptedModel;
use toolbox::{ToolContext, tool, tools};

/// Looks up a customer.
#[tool(read_only)]
fn customer(id: u32) -> String {
    format!("customer {id}: Ada, card 4111 1111 1111 1111")
}

/// Deletes a customer.
#[tool]
fn delete_customer(id: u32) -> String {
    format!("deleted {id}")
}

/// Asks a small model if a question is about customers.
async fn is_on_topic(input: Checked) -> Result<Verdict, Box<dyn std::error::Error + Send + Sync>> {
    let small = Agent::builder(ScriptedModel::new().respond(|request| {
        let asked = request.history.last_user_text().unwrap_or_default();
        Ok(if asked.contains("homework") { "no" } else { "yes" }.into())
    }));
    // In the context of the run, so that its limits hold and its tokens count.
    let judge = small.name("judge").build()?;
    let outcome = judge.run(input.text()).in_context(input.context().clone()).await?;
    Ok(Verdict::block_if(outcome.content != "yes", "not about customers"))
}

fn no_card_numbers(answer: &Checked) -> Verdict {
    let digits = answer.text().chars().filter(char::is_ascii_digit).count();
    Verdict::block_if(digits >= 16, "holds the number of a card")
}

fn is_short(answer: &Checked) -> Result<(), String> {
    let words = answer.text().split_whitespace().count();
    if words <= 12 { Ok(()) } else { Err(format!("{words} words; at most 12, please")) }
}

/// Members of the staff may delete, once they have looked.
fn prepare(step: &mut StepRequest) {
    let user = Principal::of(step.context());
    step.add_to_system(&format!("You talk to {}.", user.as_str()));
    let may_delete = user.as_str().starts_with("staff:") && step.step() > 1;
    step.retain_tools(|tool| may_delete || tool.annotations.is_read_only());
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // All runs of a day, together.
    let budget = SharedBudget::new(UsageLimits::new().max_requests(20).max_tokens(10_000));
    let cases = [
        ("Who is customer 7?", "staff:bo", script("Customer 7 is Ada.")),
        ("Do my homework.", "ann", script("Here it is.")),
        ("What is her card?", "staff:bo", script("It is 4111 1111 1111 1111.")),
        (
            "Delete customer 7.",
            "ann",
            ScriptedModel::new()
                .calls("delete_customer", r#"{"id": 7}"#)
                .text("I may not, and I am very sorry to have to tell you that I cannot do it.")
                .text("I may not delete customers."),
        ),
    ];
    for (question, user, model) in cases {
        let agent = Agent::builder(model)
            .system("You know the customers.")
            .tools(tools![customer, delete_customer])
            .shared_budget(budget.clone())
            .before_step(prepare)
            .guard_input(is_on_topic)
            .guard_output(no_card_numbers)
            .validate_answer(is_short)
            .build()?;
        let context = ToolContext::new().with(Principal::new(user));
        let outcome = agent.run(question).in_context(context).await?;
        let text = outcome.blocked.as_deref().unwrap_or(&outcome.content);
        println!("{user}: {question}\n   {}: {text}", outcome.reason);
    }
    println!("\n{} requests, {} tokens", budget.requests(), budget.usage().total_tokens());
    Ok(())
}

fn script(answer: &str) -> ScriptedModel {
    ScriptedModel::new().calls("customer", r#"{"id": 7}"#).text(answer)
}
