//! The programs of these tests, in one binary.

#![allow(clippy::unit_arg, reason = "each program ends as `main` may")]

#[path = "../programs/interrupted.rs"]
mod interrupted;
#[path = "../programs/ledger.rs"]
mod ledger;
#[path = "../programs/spender.rs"]
mod spender;
#[path = "../programs/steps.rs"]
mod steps;

use std::process::{ExitCode, Termination as _};

fn main() -> ExitCode {
    support::programs::run(&[
        ("interrupted", || interrupted::main().report()),
        ("ledger", || ledger::main().report()),
        ("spender", || spender::main().report()),
        ("steps", || steps::main().report()),
    ])
}
