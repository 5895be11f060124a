//! Tests of agents and tools, with no model and no network.
//!
//! [`Caller`] calls tools with arguments that fit their schemas and with arguments that do not.
//! [`ScriptedModel`] plays a model from a script, [`Recorder`] writes the script of a real one, and
//! [`check`] states what a transcript must hold.

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
