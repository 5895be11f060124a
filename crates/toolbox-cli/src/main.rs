//! The program `toolbox`: many MCP servers and HTTP APIs behind three tools.

use std::process::ExitCode;

#[cfg(not(feature = "scripts"))]
type Extension = ();
#[cfg(feature = "scripts")]
type Extension = toolbox_script::ProgramScripts;

fn main() -> ExitCode {
    #[cfg(all(feature = "scripts", unix))]
    toolbox_script::child::run_if_asked();
    let commands = [
        #[cfg(feature = "evals")]
        toolbox_eval::cli::command::<Extension>(),
        #[cfg(feature = "openapi")]
        toolbox_openapi::cli::COMMAND,
    ];
    toolbox::cli::program_with(Extension::default(), &commands)
}
