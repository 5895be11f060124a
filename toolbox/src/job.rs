//! Work that goes on after its call was answered.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::context::ToolContext;
use crate::result::ToolResult;

/// Names one job of a background tool; 128 bits that nobody can guess.
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

/// The end of a background job: its result, and the context of the call that started it.
///
/// Sent exactly once for each pending result, whether the job succeeded, failed, panicked or was cancelled.
#[derive(Debug)]
#[non_exhaustive]
pub struct Completion {
    /// The job that ended.
    pub job: JobId,
    /// The context of the call that started it: the call's id, the tool's name, the conversation.
    pub context: ToolContext,
    /// What it came to, under the id of that call.
    pub result: ToolResult,
}
