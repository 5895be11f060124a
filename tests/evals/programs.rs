//! The program of these tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    support::programs::run(&[("toolbox-program", || {
        toolbox::cli::program_with((), &[toolbox_eval::cli::command::<()>()])
    })])
}
