//! The id of a call that may outlive its caller.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// The id of one background job, or of one call in a journal: `job_` and a ULID, so that ids sort
/// by the time they were made.
///
/// 48 bits are that time in milliseconds, 80 bits are random.
///
/// ```
/// use toolbox::call::JobId;
///
/// let id = JobId::from_text("7f3a"); // as a program kept it
/// assert_eq!(id.as_str(), "7f3a");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(String);

impl JobId {
    pub(crate) fn new() -> Self {
        Self(new_id("job_"))
    }

    /// Takes an id that was kept as text. One that names no job is found nowhere.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns a new id: a prefix and a ULID, so that ids sort by the time they were made.
pub(crate) fn new_id(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    // Each `RandomState` starts from keys of the operating system's randomness.
    let half = || u128::from(RandomState::new().hash_one(count));
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let random = (half() << 64 | half()) & ((1 << 80) - 1);
    format!("{prefix}{}", ulid((since.as_millis() << 80) | random))
}

/// Writes 128 bits as 26 digits of Crockford's base 32.
fn ulid(bits: u128) -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let digit = |place: u32| char::from(DIGITS[((bits >> (5 * place)) & 31) as usize]);
    (0..26).rev().map(digit).collect()
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_ulid_that_sorts_by_time() {
        let ids: Vec<JobId> = (0..100).map(|_| JobId::new()).collect();
        assert!(ids.iter().all(|id| id.as_str().len() == "job_".len() + 26));
        assert!(ids.iter().collect::<std::collections::HashSet<_>>().len() == 100);
        assert_eq!(ulid(u128::MAX), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        assert!(ulid(1 << 80) > ulid((1 << 80) - 1));
    }
}
