//! Calls and runs that outlive their process.

#![allow(
    clippy::needless_pass_by_value,
    clippy::print_stdout,
    reason = "tools are written as users write them; the long runs say what they counted"
)]

mod attempts;
mod clocks;
mod combined;
mod crashes;
mod damages;
mod handed_over;
mod journal;
mod memory;
mod power;
mod results;
mod resumed;
mod runs;
#[cfg(unix)]
mod signals;
mod spending;

use support::{bounded, ledger};

support::programs!("durable-programs");
