//! Tools on other machines, tested against a real `nats-server`.

#![allow(
    clippy::needless_pass_by_value,
    clippy::print_stdout,
    reason = "tools are written as users write them; the long runs say what they counted"
)]

mod context;
mod crashes;
mod credentials;
mod faults;
mod hostile;
mod kept;
mod large;
mod offers;
mod partitions;
mod queue;
mod results;

use support::{bounded, ledger};

support::programs!("fleet-programs");
