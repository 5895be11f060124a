//! Scripts: the tools of a box as the functions of a program that a model writes.

#![allow(clippy::needless_pass_by_value, reason = "tools take their arguments by value")]

mod callers;
mod company;
#[cfg(target_os = "linux")]
mod confined;
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
#[cfg(target_os = "linux")]
mod typescript;

#[allow(clippy::too_many_arguments, reason = "each is of another type")]
#[path = "../core/arguments/agreement/types.rs"]
mod corpus;

/// The answer of the tools of the corpus.
const REACHED: &str = "reached";

use std::time::Duration;

use serde_json::json;
use support::bounded;
use toolbox::{ToolBox, ToolCall, ToolContext, ToolResult};
use toolbox_script::{Limits, Scripts};

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

/// The variable by which all tests run their scripts in confined processes.
const CONFINED: &str = "TOOLBOX_TEST_CONFINED";

/// Returns the tool for scripts over a box, by the engine that is tested. On a busy machine a
/// script may compute for longer than by default.
fn over(toolbox: &ToolBox) -> Scripts {
    let limits = Limits { compute: Duration::from_secs(60), ..Limits::default() };
    let scripts = Scripts::over(toolbox).with_limits(limits);
    #[cfg(target_os = "linux")]
    if std::env::var_os(CONFINED).is_some() {
        return scripts.with_engine(confined::engine());
    }
    scripts
}

/// Puts the tool for scripts into a box.
fn scripted(toolbox: ToolBox) -> ToolBox {
    toolbox.register(over(&toolbox));
    toolbox
}
