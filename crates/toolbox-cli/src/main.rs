//! The program `toolbox`: many MCP servers and HTTP APIs behind three tools.

use std::process::ExitCode;

fn main() -> ExitCode {
    toolbox::cli::program_with(&[
        #[cfg(feature = "openapi")]
        toolbox_openapi::cli::COMMAND,
    ])
}
