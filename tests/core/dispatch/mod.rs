//! The way of a call through the gate.

mod approved;
mod asking;
mod cancellation;
mod concurrency;
mod gate;
mod handed_on;
pub(crate) mod handlers;
mod layers;
mod limits;
mod provenance;
mod results;
mod safety;
mod taint;
mod tracing_events;
