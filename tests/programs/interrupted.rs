//! A run of an agent that a signal interrupts in the middle of its calls.
//!
//! `interrupted <database> <way>`, with `-` for no database. It prints `begun` when the calls run.
//! `cancels`: a signal cancels the run. `dies`: a signal ends the process. `resumes`: the run goes
//! on. At its end it prints the transcript, and the reason of its end.

#![allow(
    clippy::print_stdout,
    clippy::unused_async,
    reason = "tools are written as users write them, and the tests read the output"
)]

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Barrier;
use toolbox::agent::Agent;
use toolbox::context::CancellationToken;
use toolbox::durable::Journal;
use toolbox::testing::ScriptedModel;
use toolbox::{State, tool, tools};

/// Looks at something.
#[tool(read_only, idempotent)]
fn look() -> &'static str {
    "seen"
}

/// Waits for ever.
#[tool]
async fn wait(all: State<Barrier>) -> String {
    all.wait().await;
    println!("begun");
    std::future::pending().await
}

/// Waits as well, with a report.
#[tool]
async fn linger(all: State<Barrier>, context: &toolbox::ToolContext) -> String {
    context.report_progress(0.5, None, "half of it");
    all.wait().await;
    std::future::pending().await
}

#[tokio::main]
pub(crate) async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database, way] = arguments.as_slice() else { panic!("interrupted <database> <way>") };
    // Printed once all calls run.
    let all = std::sync::Arc::new(Barrier::new(2));
    let (boss, helper) = (ScriptedModel::new(), ScriptedModel::new());
    let (boss, helper) = if way == "resumes" {
        (boss.text("done"), helper.text("helped"))
    } else {
        let calls = [("look", json!({})), ("wait", json!({})), ("helper", json!({"task": "x"}))];
        (
            boss.calls_all(calls.map(|(name, arguments)| (name, arguments.to_string())))
                .text("done"),
            helper.calls("linger", "{}").text("helped"),
        )
    };
    let helper = Agent::builder(helper)
        .tools(tools![linger])
        .shared_state(std::sync::Arc::clone(&all))
        .build()
        .expect("an agent");
    let boss = Agent::builder(boss)
        .tools(tools![look, wait])
        .shared_state(all)
        .add_subagent(helper.as_tool("helper", "Helps"))
        .build()
        .expect("an agent");
    let mut run = boss.run("Go");
    if database != "-" {
        run = run.durable("the run", &Journal::open(database).expect("a journal"));
    }
    if way == "cancels" {
        let signals = [SignalKind::interrupt(), SignalKind::terminate()];
        let [mut interrupted, mut terminated] =
            signals.map(|kind| signal(kind).expect("a handler"));
        let token = CancellationToken::new();
        run = run.with_cancellation(token.clone());
        tokio::spawn(async move {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = terminated.recv() => {}
            }
            token.cancel();
        });
    }
    let outcome = run.await.expect("an outcome");
    let transcript = serde_json::to_string(&outcome.history).expect("JSON");
    println!("{transcript}\n{:?}", outcome.reason);
}
