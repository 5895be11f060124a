//! The programs of these tests, in one binary.

#![allow(clippy::unit_arg, reason = "each program ends as `main` may")]

mod audited;
mod own;
#[path = "../programs/toolbox.rs"]
mod toolbox_program;

use std::process::{ExitCode, Termination as _};

fn main() -> ExitCode {
    support::programs::run(&[
        ("audited", || audited::writes_for_ever().report()),
        ("audited-full-disk", || audited::writes_to_a_full_disk().report()),
        ("own-program", || own::main().report()),
        ("toolbox-program", || toolbox_program::main().report()),
    ])
}
