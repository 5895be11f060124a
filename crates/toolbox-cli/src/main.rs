//! The program `toolbox`: many MCP servers behind three tools.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "scripts")]
    return toolbox::cli::program_with(toolbox_script::ProgramScripts);
    #[cfg(not(feature = "scripts"))]
    toolbox::cli::program()
}
