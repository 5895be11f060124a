//! Code of the program that takes part in a run: before each step, on its input, on its answer.

mod checked;
mod guard;
mod prepare;
mod validate;

use std::marker::PhantomData;
use std::sync::Arc;

pub use checked::Checked;
pub use guard::{Guard, IntoVerdict, Verdict};
pub use prepare::{PrepareStep, StepRequest};
pub use validate::ValidateAnswer;

/// Marks closures that return at once.
#[derive(Debug)]
pub enum AtOnce {}

/// Marks closures that return a future.
#[derive(Debug)]
pub enum Awaited {}

/// The hooks of an agent.
#[derive(Clone, Default)]
pub(super) struct Hooks {
    pub(super) before_step: Vec<Arc<dyn PrepareStep>>,
    pub(super) on_input: Vec<Arc<dyn Guard>>,
    pub(super) on_output: Vec<Arc<dyn Guard>>,
    pub(super) on_answer: Vec<Arc<dyn ValidateAnswer>>,
}

/// A hook of any form, as one of the default form.
pub(super) struct AnyForm<H, Form> {
    hook: H,
    form: PhantomData<fn() -> Form>,
}

impl<H, Form> AnyForm<H, Form> {
    pub(super) fn new(hook: H) -> Self {
        Self { hook, form: PhantomData }
    }
}
