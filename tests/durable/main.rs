//! Calls and runs that outlive their process.

#![allow(
    clippy::needless_pass_by_value,
    clippy::print_stdout,
    reason = "tools are written as users write them; the long runs say what they counted"
)]

mod attempts;
#[path = "../bounded.rs"]
mod bounded;
mod clocks;
mod combined;
mod crashes;
mod handed_over;
mod journal;
#[path = "../ledger.rs"]
mod ledger;
mod memory;
mod power;
mod resumed;
mod runs;
#[allow(dead_code, reason = "shared with other binaries")]
#[path = "../builtin/support.rs"]
mod support;
