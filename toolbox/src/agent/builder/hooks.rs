//! Methods that add hooks, guards, validators, shared budgets and handoffs to an agent.

use std::sync::Arc;

use super::{AgentBuilder, BuildAgentError};
use crate::agent::budget::SharedBudget;
use crate::agent::handoff::Handoff;
use crate::agent::hooks::{AnyForm, Guard, PrepareStep, ValidateAnswer};
use crate::agent::spending::SpendingLimits;
use crate::event::EventSink;

impl AgentBuilder {
    /// Reports the runs of the agent, its calls and the agents below it to a sink; several may be
    /// added. The sinks of its [box](crate::ToolBoxBuilder::events) get them as well.
    pub fn events(mut self, sink: EventSink) -> Self {
        self.settings.sinks.push(sink);
        self
    }

    /// Adds a hook that runs before each step and may change its request: instructions, options,
    /// the choice of tools, and, narrowed, the tools. Hooks run in the order they are added. An
    /// error ends the run, with
    /// [`RunErrorKind::BeforeStep`](crate::agent::RunErrorKind::BeforeStep).
    ///
    /// It runs once for each request that is sent. A step that a durable run has in its log, or one
    /// that was paused, is not prepared again when the run goes on: the tools that were left out of
    /// it are kept, and stay forbidden in it.
    pub fn before_step<Form: 'static>(mut self, hook: impl PrepareStep<Form>) -> Self {
        self.settings.hooks.before_step.push(Arc::new(AnyForm::new(hook)));
        self
    }

    /// Adds a guard on the input: what the agent is asked, or handed.
    ///
    /// Guards run beside the first request to the model. One that blocks drops that request, and
    /// the run stops with [`StopReason::InputBlocked`](crate::agent::StopReason::InputBlocked).
    /// Until all of them have passed, no tool runs and no delta of the reply is reported: a reply
    /// that is there before waits for them. They have the time of the run.
    ///
    /// They run again beside the next request where the user has said more: a message by which the
    /// run was [steered](crate::agent::RunHandle::steer), or the
    /// [input](crate::agent::Run::with_input) of a run that goes on. After a
    /// [handoff](Self::handoff), those of the agents before check such a message too.
    ///
    /// A run that goes on, from a pause or from the log of a durable run, has passed them for what
    /// stands before a reply that it got.
    pub fn guard_input<Form: 'static>(mut self, guard: impl Guard<Form>) -> Self {
        self.settings.hooks.on_input.push(Arc::new(AnyForm::new(guard)));
        self
    }

    /// Adds a guard on the output: an answer, and whatever other text of the model a run returns
    /// as its content, such as a summary at the end of its steps.
    ///
    /// Where one blocks, the run stops with
    /// [`StopReason::OutputBlocked`](crate::agent::StopReason::OutputBlocked), without the content,
    /// and its history ends before the reply. Deltas have been reported by then: a program that
    /// shows none of an answer that may be blocked waits for the outcome.
    ///
    /// An agent that the conversation is [handed](Self::handoff) to is held to these guards too.
    pub fn guard_output<Form: 'static>(mut self, guard: impl Guard<Form>) -> Self {
        self.settings.hooks.on_output.push(Arc::new(AnyForm::new(guard)));
        self
    }

    /// Adds a validator of answers. The model is told its error and answers again, up to
    /// [`max_answer_attempts`](Self::max_answer_attempts) times in all; then the run stops with
    /// [`StopReason::AnswerInvalid`](crate::agent::StopReason::AnswerInvalid).
    ///
    /// Of an answer [of a type](crate::agent::Run::answering_with), a validator gets the value,
    /// once it was read; [`Checked::read`](crate::agent::Checked::read) returns it. Where a durable
    /// run goes on from its log, answers in the log are validated again. A validator that panics
    /// counts as one that failed.
    pub fn validate_answer<Form: 'static>(mut self, validator: impl ValidateAnswer<Form>) -> Self {
        self.settings.hooks.on_answer.push(Arc::new(AnyForm::new(validator)));
        self
    }

    /// Lets every run of the agent charge a budget that it shares with others. May be added several
    /// times, with different budgets: all hold.
    pub fn shared_budget(mut self, budget: SharedBudget) -> Self {
        self.settings.shared_budgets.push(budget);
        self
    }

    /// Limits what each principal may spend in a day and in a month, over all runs of the agent, in
    /// all processes: see [`SpendingLimits`].
    pub fn spending_limits(mut self, limits: SpendingLimits) -> Self {
        self.settings.spending.push(limits);
        self
    }

    /// Lets the agent hand its conversation to another, by a tool `transfer_to_{name}`; see
    /// [`Handoff`].
    ///
    /// # Errors
    ///
    /// [`build`](Self::build) fails where the tool's name is taken, or is none.
    #[track_caller]
    pub fn handoff(mut self, to: impl Into<Handoff>) -> Self {
        match to.into().into_tool() {
            Ok(tool) => self.tools.push(tool),
            Err(error) => self.fail(BuildAgentError::ToolName(error)),
        }
        self
    }

    /// Limits how often the conversation of a run that begins with this agent is handed over.
    /// Default 10.
    pub fn max_handoffs(mut self, handoffs: u32) -> Self {
        self.settings.max_handoffs = handoffs;
        self
    }
}
