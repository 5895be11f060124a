//! The program `toolbox`: many MCP servers behind three tools.

use std::process::ExitCode;

fn main() -> ExitCode {
    toolbox::cli::program()
}
