//! The programs of these tests, in one binary.

#![allow(clippy::unit_arg, reason = "each program ends as `main` may")]

#[path = "../programs/apps.rs"]
mod apps;
#[path = "../programs/asking.rs"]
mod asking;
#[path = "../programs/form_corpus.rs"]
mod form_corpus;
#[cfg(unix)]
#[path = "../programs/late.rs"]
mod late;
#[path = "../programs/misbehaving.rs"]
mod misbehaving;
#[path = "../programs/offering.rs"]
mod offering;
#[path = "../programs/own.rs"]
mod own;
#[path = "../programs/paying.rs"]
mod paying;
#[path = "../programs/toolbox.rs"]
mod toolbox;

use std::process::{ExitCode, Termination as _};

fn main() -> ExitCode {
    support::programs::run(&[
        ("apps", || apps::main().report()),
        ("asking", || asking::main().report()),
        ("form-corpus", || form_corpus::main().report()),
        #[cfg(unix)]
        ("late", || late::main().report()),
        ("misbehaving", || misbehaving::main().report()),
        ("offering", || offering::main().report()),
        ("own-program", || own::main().report()),
        ("paying", || paying::main().report()),
        ("toolbox-program", || toolbox::main().report()),
        // The processes for the scripts of `late`.
        #[cfg(unix)]
        ("toolbox-script-child", || late::main().report()),
    ])
}
