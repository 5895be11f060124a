//! The program `toolbox`, where tests can start it.

use std::process::ExitCode;

fn main() -> ExitCode {
    toolbox::cli::program()
}
