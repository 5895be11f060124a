//! How does a run that waits for a person outlive the program, even where an agent below waits?
//!
//! `release start FILE` stops where `deploy` needs approval, and leaves the run in the file;
//! `release approve FILE` or `release deny FILE` is another process that goes on. Without
//! arguments, both are run, one after the other.

#![allow(
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    reason = "an example shows what it does"
)]

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use toolbox::agent::{Agent, BuildAgentError, Event, EventKind, Paused, StopReason};
use toolbox::context::Decision;
use toolbox::testing::ScriptedModel;
use toolbox::{State, tool, tools};

/// The deployments by machine.
struct Cluster {
    name: &'static str,
}

/// Runs the tests of a service.
#[tool(read_only)]
fn run_tests(service: &str) -> String {
    format!("all tests of {service} pass")
}

/// Deploys a version of a service.
#[tool(destructive, approval)]
fn deploy(service: &str, version: &str, cluster: State<Cluster>) -> String {
    format!("{service} {version} runs on {}", cluster.name)
}

/// Builds the agents, the same way in both processes; only the models' scripts differ.
fn lead(lead: ScriptedModel, deployer: ScriptedModel) -> Result<Agent, BuildAgentError> {
    let deployer = Agent::builder(deployer)
        .name("deployer")
        .system("You deploy what was tested.")
        .tools(tools![deploy])
        .state(Cluster { name: "eu-1" })
        .build()?;
    Agent::builder(lead)
        .name("lead")
        .system("You release services: test, then have them deployed.")
        .tools(tools![run_tests])
        .add_subagent(deployer.as_tool("deployer", "Deploys a version of a service"))
        .build()
}

/// Prints what the agents do, the one below further in.
fn print(event: Event) {
    let indent = "  ".repeat(event.depth());
    if let EventKind::ToolFinished(end) = event.kind {
        println!("{indent}{} -> {}", end.tool, end.preview);
    }
}

async fn start(file: &Path) -> Result<(), Box<dyn Error>> {
    let model = ScriptedModel::new()
        .calls("run_tests", r#"{"service": "shop"}"#)
        .calls("deployer", r#"{"task": "Deploy shop 1.4"}"#);
    let deployer = ScriptedModel::new().calls("deploy", r#"{"service": "shop", "version": "1.4"}"#);
    let outcome = lead(model, deployer)?.run("Release shop 1.4.").on_event(print).await?;
    let paused = outcome.paused.filter(|_| outcome.reason == StopReason::ApprovalNeeded);
    let paused = paused.ok_or("nothing waits for approval")?;
    for call in paused.pending() {
        println!("waiting: {} {}", call.tool, call.arguments);
    }
    fs::write(file, serde_json::to_string(&paused)?)?;
    Ok(())
}

async fn decide(file: &Path, decision: Decision) -> Result<(), Box<dyn Error>> {
    let paused: Paused = serde_json::from_str(&fs::read_to_string(file)?)?;
    let model = ScriptedModel::new().text("The release is settled.");
    let deployer = ScriptedModel::new().text("That is what became of it.");
    let decisions: Vec<_> =
        paused.pending().into_iter().map(|call| (call.id, decision.clone())).collect();
    let outcome = lead(model, deployer)?.resume(paused, decisions).on_event(print).await?;
    println!("{}", outcome.content);
    fs::remove_file(file)?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["start", file] => start(file.as_ref()).await,
        ["approve", file] => decide(file.as_ref(), Decision::Approve).await,
        ["deny", file] => decide(file.as_ref(), Decision::Deny("not on a Friday".into())).await,
        [] => {
            let file = env::temp_dir().join(format!("release-{}.json", std::process::id()));
            for command in ["start", "approve"] {
                println!("$ release {command}");
                let status = Command::new(env::current_exe()?).arg(command).arg(&file).status()?;
                if !status.success() {
                    return Err(format!("`release {command}` failed").into());
                }
            }
            Ok(())
        }
        _ => Err("usage: release [start|approve|deny FILE]".into()),
    }
}
