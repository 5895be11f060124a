//! What the test packages share: bounded runtimes, calls in one line, fake servers, programs.

#![allow(
    missing_docs,
    missing_debug_implementations,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::new_without_default,
    clippy::return_self_not_must_use,
    reason = "these are helpers of tests, in which a panic is a failure"
)]

mod agents;
pub mod bounded;
mod calls;
mod events;
#[cfg(feature = "fleet")]
pub mod fleet;
pub mod foreign;
#[cfg(feature = "ledger")]
pub mod ledger;
#[allow(dead_code, clippy::print_stdout, reason = "build scripts use the rest")]
#[path = "../needs.rs"]
mod needs;
pub mod programs;
mod scratch;
pub mod sign_in;
mod sizes;
mod traced;
mod waiting;
pub mod web;

pub use agents::{agent, counted, offers};
pub use calls::{Dice, call, echo, now, quietly, says, waits};
pub use events::{Seen, word};
pub use scratch::Scratch;
pub use sizes::{cases, size};
pub use traced::{Traced, traced, untraced};
pub use waiting::eventually;
