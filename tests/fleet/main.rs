//! Tools on other machines, tested against a real `nats-server`.
//!
//! Where none is installed, the tests pass without a check; `.ci/run` says so at its end.

#![allow(
    clippy::needless_pass_by_value,
    clippy::print_stdout,
    reason = "tools are written as users write them; the long runs say what they counted"
)]

#[path = "../bounded.rs"]
mod bounded;
mod context;
mod crashes;
mod credentials;
mod faults;
mod hostile;
mod kept;
mod large;
#[path = "../ledger.rs"]
mod ledger;
mod offers;
mod partitions;
mod program;
mod queue;
mod results;
mod support;
