//! Tests of agents and tools, with no model and no network.
//!
//! [`ScriptedModel`] plays a model from a script, [`Recorder`] writes the script of a real one, and [`check`] states what a
//! transcript must hold.

mod check;
mod recorder;
mod script;

pub use check::{HistoryCheck, check, rendered};
pub use recorder::Recorder;
pub use script::ScriptedModel;
