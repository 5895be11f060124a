//! The times between attempts to listen at a server.

use std::time::Duration;

/// The pause after the first stream that ended at once; each further one doubles it.
const FIRST: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(60);
/// A stream that was open for this long, or on which something was heard, did not end at once.
const LASTING: Duration = Duration::from_secs(10);

/// Counts the streams that ended at once, one after another.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    ended_at_once: u32,
}

impl Backoff {
    /// Returns the least time between the beginning of a stream that has ended and that of the
    /// next.
    pub(super) fn after(&mut self, lived: Duration, was_heard: bool) -> Duration {
        if was_heard || lived >= LASTING {
            self.ended_at_once = 0;
            return FIRST;
        }
        let pause = FIRST.saturating_mul(1 << self.ended_at_once.min(6)).min(LONGEST);
        self.ended_at_once += 1;
        pause
    }

    /// Returns how many streams have ended at once.
    pub(super) fn ended_at_once(&self) -> u32 {
        self.ended_at_once
    }
}
