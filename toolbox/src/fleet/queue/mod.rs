//! Durable calls: a journal in front, a queue of the server between, workers behind.
//!
//! `relay` hands calls of a journal over and ends them there, `take` runs them at a worker, `mark` is
//! the rule by which a call is begun once, `store` keeps messages, marks and results.

mod held;
mod mark;
mod relay;
mod store;
mod take;

pub use relay::Relay;
pub(super) use store::MAX_AGE;
pub(super) use take::QueueService;
