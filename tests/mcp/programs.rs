//! The programs of these tests, in one binary.

#![allow(clippy::unit_arg, reason = "each program ends as `main` may")]

#[path = "../programs/asking.rs"]
mod asking;
#[path = "../programs/host.rs"]
mod host;
#[path = "../programs/misbehaving.rs"]
mod misbehaving;
#[path = "../programs/offering.rs"]
mod offering;
#[path = "../programs/served.rs"]
mod served;

use std::process::{ExitCode, Termination as _};

fn main() -> ExitCode {
    support::programs::run(&[
        ("asking", || asking::main().report()),
        ("host", || host::main().report()),
        ("misbehaving", || misbehaving::main().report()),
        ("offering", || offering::main().report()),
        ("served", || served::main().report()),
    ])
}
