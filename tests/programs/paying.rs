//! A program whose scripts make calls that need approval.

use std::process::ExitCode;

use toolbox::{ToolBox, tool, tools};
use toolbox_script::Scripts;

/// Pays, into the file of the variable PAID.
#[tool(approval)]
fn pay(cents: u64) -> String {
    if let Some(path) = std::env::var_os("PAID") {
        let _ = std::fs::write(path, cents.to_string());
    }
    format!("paid {cents}")
}

pub(crate) fn main() -> ExitCode {
    let toolbox = ToolBox::from(tools![pay]);
    toolbox.register(Scripts::over(&toolbox));
    toolbox::cli::main(toolbox)
}
