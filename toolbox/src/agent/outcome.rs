//! The outcome of a run.

use std::error::Error;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::jobs::LateJobs;
use super::paused::Paused;
use super::spending::SpendingLimit;
use crate::call::{FailureKind, SharedError};
use crate::cost::Cost;
use crate::event::StopReason;
use crate::model::{History, ModelError, Usage};

/// The outcome of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The answer: the text of the last reply; empty when the run stopped before there was one.
    pub content: String,
    /// The name of the agent that answered, or stopped: the one that was run, or the one that the
    /// conversation was [handed](super::Handoff) to last.
    pub agent: String,
    /// Why the run stopped.
    pub reason: StopReason,
    /// The limit of a day or a month that the run reached, where it stopped for one of
    /// [those](super::SpendingLimits); the reason is then [`StopReason::Budget`], or
    /// [`StopReason::Cost`] for money.
    pub limit: Option<SpendingLimit>,
    /// The number of requests to the model: one for an answer without calls, one more for each
    /// round of calls.
    pub iterations: u32,
    /// The tokens used by the requests of this agent and of those below it, together, those of
    /// [summaries](super::ModelCompactor) among them. Each agent's
    /// own total is in its [`Finished`](super::EventKind::Finished) event; agents that go on in the
    /// background are not counted.
    pub usage: Usage,
    /// The cost of those tokens, by the [prices](super::AgentBuilder::prices) of each agent.
    pub cost: Cost,
    /// The transcript, as the model was last sent it:
    /// [shortened](super::AgentBuilder::max_context_tokens) where it was too long. It can go on
    /// with another [`run`](super::Agent::run).
    pub history: History,
    /// The answer as JSON, where the run was asked for [one of a type](super::Run::answering_with).
    pub answer: Option<Value>,
    /// The reason that a [guard](super::Guard) gave, when one stopped the run.
    pub blocked: Option<String>,
    /// The document by which the run goes on, when it stopped for an approval or was paused.
    pub paused: Option<Paused>,
    /// The background jobs that go on, where they were to be [left](super::JobPolicy::Leave).
    pub jobs: LateJobs,
}

impl RunOutcome {
    /// Returns whether the model gave an answer.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.reason == StopReason::Answered
    }

    /// Reads the answer of a run that was asked for one of type `T`; of any other run, the text as
    /// JSON.
    ///
    /// # Errors
    ///
    /// The reason why the run stopped without an answer, or serde's error if the answer was read as
    /// another type than the run was asked for.
    pub fn answer_as<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        match &self.answer {
            Some(answer) => T::deserialize(answer),
            None if self.is_answered() => serde_json::from_str(&self.content),
            None => {
                let text = format!("the run stopped without an answer: {}", self.reason);
                Err(serde::de::Error::custom(text))
            }
        }
    }
}

/// An error that ended a run without an outcome. The transcript until then is kept.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunError {
    /// The kind of the error.
    pub kind: RunErrorKind,
    /// The transcript so far; complete, so that it can be sent again.
    pub history: History,
    /// The number of requests to the model.
    pub iterations: u32,
    /// The tokens that they used.
    pub usage: Usage,
    /// The cost of those tokens.
    pub cost: Cost,
}

/// The kinds of errors that end a run without an outcome.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunErrorKind {
    /// The model gave no reply.
    Model(ModelError),
    /// A hook before a step failed or panicked.
    BeforeStep(SharedError),
    /// The model was asked as often as it may be, and that was to count as an error.
    MaxIterations(u32),
    /// As many agents as may be at work above one another were at work already, this many.
    TooDeep(u32),
    /// The run to resume is another's: of an agent of another name, or made for another
    /// [`Principal`](crate::context::Principal).
    ForeignPause {
        /// The name of the agent that was to resume it.
        agent: String,
        /// The run, as it was given.
        paused: Box<Paused>,
    },
    /// The run to resume was resumed before, as a journal knows. Its calls may have run; nothing
    /// ran now.
    AlreadyResumed {
        /// The run, as it was given.
        paused: Box<Paused>,
    },
    /// The run to resume was [handed over](super::Handoff) by a tool that the agent has no more.
    MissingHandoff {
        /// The name of the tool.
        tool: String,
        /// The run, as it was given.
        paused: Box<Paused>,
    },
    /// The journal of a durable run could not be read or written, or has no such run. What it has
    /// is whole: the run goes on from there.
    Journal(SharedError),
    /// Money is limited, and a model that was to be asked, or an agent in another process has
    /// asked, has no [price](super::AgentBuilder::prices).
    NoPrice {
        /// The name of the service.
        provider: String,
        /// The name of the model.
        model: String,
    },
    /// A tool failed for a reason outside its call, and the policy ends the run.
    Tool {
        /// The name of the tool.
        tool: String,
        /// The message of the failure.
        message: String,
    },
}

impl RunError {
    pub(super) fn before_begin(kind: RunErrorKind) -> Self {
        Self {
            kind,
            history: History::new(),
            iterations: 0,
            usage: Usage::default(),
            cost: Cost::default(),
        }
    }

    /// Returns the stable code of what went wrong, such as `model.rate_limited`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match &self.kind {
            RunErrorKind::Model(error) => error.kind().code(),
            RunErrorKind::MaxIterations(_) => StopReason::MaxIterations.code(),
            RunErrorKind::Tool { .. } => FailureKind::Infrastructure.code(),
            RunErrorKind::TooDeep(_) => FailureKind::TooDeep.code(),
            RunErrorKind::ForeignPause { .. } => "run.foreign_pause",
            RunErrorKind::AlreadyResumed { .. } => "run.already_resumed",
            RunErrorKind::MissingHandoff { .. } => "run.missing_handoff",
            RunErrorKind::Journal(_) => "run.journal",
            RunErrorKind::BeforeStep(_) => "run.before_step",
            RunErrorKind::NoPrice { .. } => "run.no_price",
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            RunErrorKind::Model(error) => write!(f, "the model gave no reply: {error}"),
            RunErrorKind::MaxIterations(limit) => {
                write!(f, "the agent was not done after {limit} iterations")
            }
            RunErrorKind::TooDeep(agents) => write!(
                f,
                "the agent was not started: {agents} agents are at work above one another, and no more may be"
            ),
            RunErrorKind::ForeignPause { agent, paused } if paused.agent() != agent => write!(
                f,
                "the paused run is one of agent `{}`, and `{agent}` was to resume it",
                paused.agent()
            ),
            RunErrorKind::ForeignPause { .. } => f.write_str(
                "the paused run was made for another principal than the context it was to be resumed in",
            ),
            RunErrorKind::AlreadyResumed { .. } => f.write_str(
                "the paused run was resumed before, and its calls may have run; nothing ran now",
            ),
            RunErrorKind::MissingHandoff { tool, .. } => {
                write!(f, "the paused run was handed over by `{tool}`, which the agent has no more")
            }
            RunErrorKind::Journal(error) => {
                write!(f, "the journal of the run failed: {}", crate::call::chain(error.as_ref()))
            }
            RunErrorKind::BeforeStep(error) => {
                let error = crate::call::chain(error.as_ref());
                write!(f, "the hook before the step failed: {error}")
            }
            RunErrorKind::NoPrice { provider, model } => write!(
                f,
                "the run may cost only so much, and there is no price for all of its tokens (model `{model}` of {provider}): give the agent prices, or a default price"
            ),
            RunErrorKind::Tool { tool, message } => write!(f, "tool `{tool}` failed: {message}"),
        }
    }
}

impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            RunErrorKind::Model(error) => Some(error),
            RunErrorKind::Journal(error) | RunErrorKind::BeforeStep(error) => Some(error.as_ref()),
            _ => None,
        }
    }
}

/// A reason why there is no value of the type that was [asked for](super::Run::extract).
#[derive(Debug)]
#[non_exhaustive]
pub enum ExtractError {
    /// The run failed.
    Run(RunError),
    /// The run stopped without an answer, most often for [`StopReason::AnswerInvalid`]; its history
    /// holds what was tried.
    Stopped(Box<RunOutcome>),
}

impl ExtractError {
    /// Returns the transcript until the failure.
    #[must_use]
    pub fn history(&self) -> &History {
        match self {
            Self::Run(error) => &error.history,
            Self::Stopped(outcome) => &outcome.history,
        }
    }

    /// Returns the stable code of what went wrong, such as `answer_invalid` or
    /// `model.rate_limited`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Run(error) => error.code(),
            Self::Stopped(outcome) => outcome.reason.code(),
        }
    }
}

impl fmt::Display for ExtractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(error) => error.fmt(f),
            Self::Stopped(outcome) => {
                write!(f, "the run stopped without an answer: {}", outcome.reason)
            }
        }
    }
}

impl Error for ExtractError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Run(error) => error.source(),
            Self::Stopped(_) => None,
        }
    }
}

impl From<RunError> for ExtractError {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}
