//! The programs of these tests, in one binary.

#![allow(clippy::unit_arg, reason = "each program ends as `main` may")]

#[path = "../programs/fleet_worker.rs"]
mod fleet_worker;
#[path = "../programs/remote_ledger.rs"]
mod remote_ledger;

use std::process::{ExitCode, Termination as _};

fn main() -> ExitCode {
    support::programs::run(&[
        ("fleet-worker", || fleet_worker::main().report()),
        ("remote-ledger", || remote_ledger::main().report()),
    ])
}
