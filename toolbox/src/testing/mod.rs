//! Helpers for tests of agents and tools, without a model and a network.
//!
//! [`Caller`] calls tools with arguments that fit their schemas and with arguments that do not.
//! [`ScriptedModel`] plays a model from a script, [`Recorder`] records the script of a real one,
//! and [`check`] makes assertions on a transcript.

mod caller;
mod check;
mod generate;
mod recorder;
mod script;

pub use caller::{Caller, Finding, Invalid};
pub use check::{HistoryCheck, check, rendered};
pub use generate::Generator;
pub use recorder::Recorder;
pub use script::ScriptedModel;
