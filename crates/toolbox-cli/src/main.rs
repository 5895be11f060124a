//! The program `toolbox`: many MCP servers and HTTP APIs behind three tools.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "scripts")]
    let extension = toolbox_script::ProgramScripts;
    #[cfg(not(feature = "scripts"))]
    let extension = ();
    let commands = [
        #[cfg(feature = "openapi")]
        toolbox_openapi::cli::COMMAND,
    ];
    toolbox::cli::program_with(extension, &commands)
}
