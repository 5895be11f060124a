//! The program `toolbox`, where tests can start it.

use std::process::ExitCode;

pub(crate) fn main() -> ExitCode {
    toolbox::cli::program_with(toolbox_script::ProgramScripts, &[])
}
