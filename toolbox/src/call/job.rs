//! The id of a background job.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// The id of one job of a background tool: 128 random bits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobId(String);

impl JobId {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let count = NEXT.fetch_add(1, Ordering::Relaxed);
        // Each `RandomState` starts from keys of the operating system's randomness.
        let half = || RandomState::new().hash_one(count);
        Self(format!("job_{:016x}{:016x}", half(), half()))
    }

    /// Returns the id of a job in another process.
    pub(crate) fn of_text(id: String) -> Self {
        Self(id)
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
