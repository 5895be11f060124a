//! A task of many calls, as a model makes them one by one, and as one script.
//!
//! A team of twenty, fifty expenses each: who is over budget? The results of 21 calls, or a script
//! and its answer, go through the model.
//!
//! `cargo run -p toolbox-examples --example script`

#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use toolbox::agent::RunOutcome;
use toolbox::model::{ModelRequest, ModelResponse, Reply};
use toolbox::testing::ScriptedModel;
use toolbox::{Agent, ToolBox, ToolCall, tool, tools};
use toolbox_script::Scripts;

const BUDGET: u64 = 505_000;

#[derive(Serialize, JsonSchema)]
struct Person {
    id: u64,
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct Expense {
    day: String,
    place: String,
    cents: u64,
}

/// Returns the people of the team.
#[tool(read_only)]
fn team() -> Vec<Person> {
    (1..=20).map(|id| Person { id, name: format!("Person {id}") }).collect()
}

/// Returns the expenses of a person.
#[tool(read_only)]
fn expenses(person: u64) -> Vec<Expense> {
    let expense = |at: u64| Expense {
        day: format!("2026-10-{:02}", at % 30 + 1),
        place: format!("Restaurant {}", (person * at) % 17),
        cents: 8_000 + (person * 7_919 + at * 104_729) % 4_100,
    };
    (0..50).map(expense).collect()
}

/// The script that a model would write, once it knows the tools.
const SCRIPT: &str = "
const people = await tools.team();
const sums = await Promise.all(people.map(async ({ id, name }) => {
    const all = await tools.expenses({ person: id });
    return { name, cents: all.reduce((sum, { cents }) => sum + cents, 0) };
}));
return sums.filter(({ cents }) => cents > 505000);
";

/// The bytes of calls and results that the model reads or writes, summed over all requests.
fn bytes(model: &ScriptedModel, outcome: &RunOutcome) -> usize {
    let read = |request: &ModelRequest| -> usize {
        let calls = request.history.steps().flat_map(toolbox::model::Step::calls);
        calls.map(|(call, result)| call.arguments.as_str().len() + result.text().len()).sum()
    };
    let written = outcome.history.steps().flat_map(toolbox::model::Step::calls);
    model.requests().iter().map(read).sum::<usize>()
        + written.map(|(call, _)| call.arguments.as_str().len()).sum::<usize>()
}

async fn run(model: ScriptedModel) -> Result<RunOutcome, Box<dyn Error>> {
    let toolbox = ToolBox::from(tools![team, expenses]);
    toolbox.register(Scripts::over(&toolbox));
    let agent = Agent::builder(model.clone()).toolbox(toolbox).build()?;
    let outcome = agent.run(format!("Who spent more than {BUDGET} cents?")).await?;
    println!("{:>7} bytes in {} requests", bytes(&model, &outcome), outcome.iterations);
    Ok(outcome)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("direct calls:");
    let each = |_: &ModelRequest| -> Result<ModelResponse, toolbox::model::ModelError> {
        let call =
            |id: u64| ToolCall::new(format!("call_{id}"), "expenses", json!({ "person": id }));
        Ok(Reply::calls((1..=20).map(call)).into())
    };
    let direct = ScriptedModel::new().calls("team", "{}").respond(each).text("I added them up.");
    run(direct).await?;

    println!("one script:");
    let script =
        ScriptedModel::new().calls("run_script", json!({ "script": SCRIPT })).text("Done.");
    let outcome = run(script).await?;
    let first = outcome.history.steps().next().ok_or("no step")?;
    println!("which returned {}", first.results()[0].text());
    Ok(())
}
