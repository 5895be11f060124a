//! The limits of a run in time and depth: cancellation, deadline, agents below each other.

use std::time::{Duration, Instant};

use crate::context::{CancellationToken, now};
use crate::dispatch::{Supervised, SupervisedEnd};
use crate::event::StopReason;
use crate::panics::forget_quietly;

/// The limits of a run in time and depth.
pub(super) struct RunLimits {
    pub(super) cancellation: CancelOnDrop,
    pub(super) deadline: Option<Instant>,
    pub(super) max_depth: u32,
    /// The time at which the run began, or went on.
    pub(super) began: Instant,
}

/// Cancels everything a run started when the run is dropped, unless it ended well.
pub(super) struct CancelOnDrop {
    pub(super) token: CancellationToken,
    pub(super) armed: bool,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if self.armed {
            self.token.cancel();
        }
    }
}

impl RunLimits {
    /// Returns the time since the run began.
    pub(super) fn elapsed(&self) -> Duration {
        now().saturating_duration_since(self.began)
    }

    /// Returns the reason for which the run may not ask the model again.
    pub(super) fn exceeded(&self) -> Option<StopReason> {
        if self.cancellation.token.is_cancelled() {
            return Some(StopReason::Cancelled);
        }
        let is_over = self.deadline.is_some_and(|deadline| deadline <= now());
        is_over.then_some(StopReason::TimedOut)
    }

    /// Waits for `future`, at most until the cancellation or the deadline, for which the run then
    /// stops. Returns `None` if it panicked.
    pub(super) async fn within<'a, F>(&'a self, future: F) -> Result<Option<F::Output>, StopReason>
    where
        F: Future + Send + 'a,
    {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(now()));
        match Supervised::new(Box::pin(future), Some(&self.cancellation.token), left).await {
            SupervisedEnd::Done(done) => Ok(Some(done)),
            SupervisedEnd::Cancelled => Err(StopReason::Cancelled),
            SupervisedEnd::TimedOut => Err(StopReason::TimedOut),
            SupervisedEnd::Panicked(payload) => {
                forget_quietly(payload);
                Ok(None)
            }
        }
    }
}
