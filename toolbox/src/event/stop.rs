//! The reasons why runs of agents stop.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a run stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model gave an answer.
    Answered,
    /// The model was asked as often as it may be; see `agent::MaxIterations`.
    MaxIterations,
    /// The run was cancelled.
    Cancelled,
    /// The time of the run was up.
    TimedOut,
    /// A call waits for a decision; see `RunOutcome::paused`.
    ApprovalNeeded,
    /// A call asks something that nobody answers; see `RunOutcome::paused` and
    /// `PendingCall::questions`.
    AnswerNeeded,
    /// The run was paused by its handle between two steps; see `RunOutcome::paused`.
    Paused,
    /// The model, or its service, refused to answer.
    Refused,
    /// The answer was cut off by the model's limit of tokens.
    Length,
    /// The calls, tokens or requests that the run, one above it, or several
    /// together may spend are spent.
    Budget,
    /// The money that the run, one above it, or several together may cost is spent.
    Cost,
    /// The model made the same call again after it was warned.
    Repeated,
    /// The model gave no answer of the type it was asked for, or none
    /// that the validators accept, as often as it may try.
    AnswerInvalid,
    /// The model said nothing, or it or its service failed before its reply was complete, although
    /// it was asked once more.
    NoAnswer,
    /// The next request is longer than it may be, and the
    /// rules of the agent can make it no shorter.
    ContextFull,
    /// A guard blocked the input; see `RunOutcome::blocked`.
    InputBlocked,
    /// A guard blocked the answer; see `RunOutcome::blocked`.
    OutputBlocked,
}

impl StopReason {
    /// Returns the stable code of this reason, such as `max_iterations`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::MaxIterations => "max_iterations",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::ApprovalNeeded => "approval_needed",
            Self::AnswerNeeded => "answer_needed",
            Self::Refused => "refused",
            Self::Length => "length",
            Self::Budget => "budget",
            Self::Cost => "cost",
            Self::Repeated => "repeated",
            Self::AnswerInvalid => "answer_invalid",
            Self::NoAnswer => "no_answer",
            Self::Paused => "paused",
            Self::ContextFull => "context_full",
            Self::InputBlocked => "input_blocked",
            Self::OutputBlocked => "output_blocked",
        }
    }

    /// Returns the reason that `code` spells.
    pub(crate) fn of_code(code: &str) -> Option<Self> {
        let all = [
            Self::Answered,
            Self::MaxIterations,
            Self::Cancelled,
            Self::TimedOut,
            Self::ApprovalNeeded,
            Self::AnswerNeeded,
            Self::Refused,
            Self::Length,
            Self::Budget,
            Self::Cost,
            Self::Repeated,
            Self::AnswerInvalid,
            Self::NoAnswer,
            Self::Paused,
            Self::ContextFull,
            Self::InputBlocked,
            Self::OutputBlocked,
        ];
        all.into_iter().find(|reason| reason.code() == code)
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
