//! A program over two tools.

use std::process::ExitCode;

use toolbox::{Tool, ToolBox};

pub(crate) fn main() -> ExitCode {
    let ping = Tool::new("ping", "Answers.").call(|_| "pong");
    let fails = Tool::new("fails", "Fails.").call(|_| Err::<String, _>("no"));
    toolbox::cli::main(ToolBox::from(vec![ping, fails]))
}
