//! Durable calls: a journal in front, a queue of the server between, workers behind.
//!
//! `relay` decides what is to be done for each call that a journal handed over (`held`), by the
//! ways `outgoing` and `incoming`; `take` runs calls at a worker, `mark` is the rule by which a
//! call is begun once, `store` keeps messages, marks and results.

mod event;
mod held;
mod incoming;
mod mark;
mod outgoing;
mod relay;
mod store;
mod take;

pub use relay::Relay;
pub(super) use store::MAX_AGE;
pub(super) use take::QueueService;
