//! How does one agent plan, and others work beside each other?
//!
//! The plan is a value: the program starts a worker for each part of it, all at once, and hands
//! what they found to the one who writes. `subagents` shows the other way, where a model decides
//! whom it calls.
//!
//! `cargo run -p toolbox-examples --example orchestrator`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::task::JoinSet;
use toolbox::agent::Agent;
use toolbox::model::Usage;
use toolbox::testing::ScriptedModel;

#[derive(Debug, Deserialize, JsonSchema)]
struct Plan {
    /// The parts, each of which one worker can do alone
    #[schemars(length(min = 1, max = 5))]
    parts: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let planner = Agent::builder(planner_model()).system("You split questions.").build()?;
    let worker = Agent::builder(worker_model()).system("You answer one question.").build()?;
    let writer = Agent::builder(writer_model()).system("You write summaries.").build()?;

    let plan: Plan = planner.extract("Compare the climate of Oslo and Rome.").await?;
    let mut workers = JoinSet::new();
    for (at, part) in plan.parts.into_iter().enumerate() {
        println!("part {}: {part}", at + 1);
        // An agent is cheap to clone, and any number of its runs go on at once.
        let worker = worker.clone();
        workers.spawn(async move { (at, worker.run(part).await) });
    }
    let mut found = Vec::new();
    let mut usage = Usage::default();
    for (at, outcome) in workers.join_all().await {
        let outcome = outcome?;
        usage += outcome.usage;
        found.push((at, outcome.content));
    }
    found.sort();
    let found: Vec<String> = found.into_iter().map(|(_, text)| text).collect();

    let summary = writer.run(found.join("\n")).await?;
    println!("\n{}\n({} tokens of the workers)", summary.content, usage.total_tokens());
    Ok(())
}

fn planner_model() -> ScriptedModel {
    ScriptedModel::new()
        .calls("final_answer", r#"{"parts":["How cold is Oslo?","How warm is Rome?"]}"#)
}

/// Answers by what it is asked: the workers run at once, in any order.
fn worker_model() -> ScriptedModel {
    ScriptedModel::new()
        .respond(|request| {
            let question = request.history.last_user_text().unwrap_or_default().into_owned();
            let text =
                if question.contains("Oslo") { "Oslo: -4 degrees." } else { "Rome: 12 degrees." };
            Ok(toolbox::model::ModelResponse::from(toolbox::model::Reply::text(text))
                .with_usage(Usage::new(20, 5)))
        })
        .forever()
}

fn writer_model() -> ScriptedModel {
    ScriptedModel::new().respond(|request| {
        let found = request.history.last_user_text().unwrap_or_default().into_owned();
        Ok(format!("In January: {}", found.replace('\n', " ")).into())
    })
}
