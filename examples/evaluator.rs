//! How do two agents improve a text in turns?
//!
//! One writes, one judges, and the loop between them is plain Rust: a verdict is a value of the
//! program, and the writer goes on with its own transcript.
//!
//! `cargo run -p toolbox-examples --example evaluator`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::agent::Agent;
use toolbox::testing::ScriptedModel;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
enum Verdict {
    Pass,
    Improve {
        /// Changes to make
        advice: String,
    },
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let writer = Agent::builder(writer_model()).system("You write slogans.").build()?;
    let judge = Agent::builder(judge_model()).system("You judge slogans.").build()?;

    let mut outcome = writer.run("A slogan for a loom, please.").await?;
    for round in 1..=3 {
        println!("{round}: {}", outcome.content);
        match judge.extract::<Verdict>(outcome.content.as_str()).await? {
            Verdict::Pass => break,
            Verdict::Improve { advice } => {
                println!("   {advice}");
                outcome = writer.run(advice).with_history(outcome.history).await?;
            }
        }
    }
    println!("\ntaken: {}", outcome.content);
    Ok(())
}

fn writer_model() -> ScriptedModel {
    ScriptedModel::new()
        .text("Looms. They weave.")
        .text("Our looms weave faster than any other loom that you could buy today.")
        .text("Weave twice as fast.")
}

fn judge_model() -> ScriptedModel {
    let improve =
        |advice: &str| format!(r#"{{"answer":{{"verdict":"improve","advice":"{advice}"}}}}"#);
    ScriptedModel::new()
        .calls("final_answer", improve("Say what is better about them."))
        .calls("final_answer", improve("Shorter: at most five words."))
        .calls("final_answer", r#"{"answer":{"verdict":"pass"}}"#)
}
