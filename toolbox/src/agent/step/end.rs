//! The end of a run.

use super::legs::AcceptedHandoff;
use crate::agent::outcome::RunErrorKind;
use crate::agent::paused::Paused;
use crate::event::StopReason;

/// The end of a run, or of an agent's part in it.
pub(super) enum End {
    Stopped(StopReason, String),
    /// A guard ended the run, for a reason.
    Blocked(StopReason, String),
    Paused(Box<Paused>),
    Failed(RunErrorKind),
    /// The run goes on as another agent.
    HandedOver(Box<AcceptedHandoff>),
}

impl End {
    pub(super) fn stopped(reason: StopReason) -> Self {
        Self::Stopped(reason, String::new())
    }
}
