//! The programs of these tests, in one binary.

#![allow(clippy::unit_arg, reason = "each program ends as `main` may")]

#[path = "../programs/alarm.rs"]
mod alarm;
#[path = "../programs/edit.rs"]
mod edit;
#[path = "../programs/fetch.rs"]
mod fetch;
#[path = "../programs/keeper.rs"]
mod keeper;
#[path = "../programs/misbehaving.rs"]
mod misbehaving;
#[path = "../programs/reporter.rs"]
mod reporter;
#[path = "../programs/shell.rs"]
mod shell;
#[path = "../programs/write.rs"]
mod write;

use std::process::{ExitCode, Termination as _};

fn main() -> ExitCode {
    support::programs::run(&[
        ("alarm", || alarm::main().report()),
        ("edit", || edit::main().report()),
        ("fetch", || fetch::main().report()),
        ("keeper", || keeper::main().report()),
        ("misbehaving", || misbehaving::main().report()),
        ("reporter", || reporter::main().report()),
        ("shell-host", || shell::main().report()),
        ("write", || write::main().report()),
    ])
}
