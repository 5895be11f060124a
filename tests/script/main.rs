//! Scripts: the tools of a box as the functions of a program that a model writes.

#![allow(clippy::needless_pass_by_value, reason = "tools take their arguments by value")]

mod callers;
mod company;
mod crashes;
mod gate;
mod hostile;
mod kept;
mod kills;
mod language;
mod limits;
mod lines;
mod matrix;
mod pauses;
mod seal;
mod tasks;
mod types;

#[allow(clippy::too_many_arguments, reason = "each is of another type")]
#[path = "../core/arguments/agreement/types.rs"]
mod corpus;

/// The answer of the tools of the corpus.
const REACHED: &str = "reached";

use serde_json::json;
use support::bounded;
use toolbox::{ToolBox, ToolCall, ToolContext, ToolResult};
use toolbox_script::Scripts;

/// Makes a call that runs a script.
fn call(script: &str) -> ToolCall {
    ToolCall::new("s", "run_script", json!({ "script": script }))
}

/// Runs a script over a box.
async fn run(toolbox: &ToolBox, script: &str) -> ToolResult {
    run_in(&ToolContext::new(), toolbox, script).await
}

async fn run_in(context: &ToolContext, toolbox: &ToolBox, script: &str) -> ToolResult {
    toolbox.call_in(context, call(script)).await
}

/// Puts the tool for scripts into a box.
fn scripted(toolbox: ToolBox) -> ToolBox {
    toolbox.register(Scripts::over(&toolbox));
    toolbox
}
