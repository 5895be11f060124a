//! Code of the program that takes part in a run: before each step, on its input, on its answer.

mod checked;
mod form;
mod guard;
mod prepare;
mod validate;

use std::sync::Arc;

pub use checked::Checked;
pub(super) use form::AnyForm;
pub use guard::{Guard, IntoVerdict, Verdict};
pub use prepare::{PrepareStep, StepRequest};
pub use validate::ValidateAnswer;

/// The hooks of an agent.
#[derive(Clone, Default)]
pub(super) struct Hooks {
    pub(super) before_step: Vec<Arc<dyn PrepareStep>>,
    pub(super) on_input: Vec<Arc<dyn Guard>>,
    pub(super) on_output: Vec<Arc<dyn Guard>>,
    pub(super) on_answer: Vec<Arc<dyn ValidateAnswer>>,
}
