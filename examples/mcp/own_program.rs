//! How do the tools of a program become commands, and a server for hosts?
//!
//! One line makes a command of each, with help, completions and JSON for scripts; `serve` lets an
//! editor or a desktop client start the program as an MCP server.
//!
//! `cargo run -p toolbox-mcp-examples --example own_program -- call add a=2 b=3`

use std::process::ExitCode;

use toolbox::{ToolBox, tool, tools};

/// Adds two numbers.
#[tool(read_only, idempotent)]
fn add(
    /// The first
    a: i64,
    /// The second
    b: i64,
) -> i64 {
    a + b
}

/// Greets somebody by name.
#[tool(read_only)]
fn greet(
    /// Who is greeted
    name: &str,
    /// How often
    #[arg(default = 1, range = 1..=3)]
    times: u32,
) -> Result<String, String> {
    match name.trim() {
        "" => Err("there is nobody to greet".to_owned()),
        name => Ok(vec![format!("Hello, {name}!"); times as usize].join(" ")),
    }
}

/// Forgets all greetings.
#[tool(destructive, approval)]
fn forget() -> &'static str {
    "forgotten"
}

fn main() -> ExitCode {
    toolbox::cli::main(ToolBox::from(tools![add, greet, forget]))
}
