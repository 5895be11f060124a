//! Rate limits on calls, by principal.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::context::Principal;
use crate::sync::Mutex;

/// The number of principals above which full buckets are removed.
const KEPT: usize = 1024;

/// A token bucket for each principal, refilled at a steady rate, with the capacity of two seconds.
///
/// A bucket is stored as the moment when it will be full again (GCRA, ITU-T I.371). A full bucket
/// needs no entry, so memory holds the principals of the last two seconds.
pub(super) struct Pace {
    interval: Duration,
    buckets: Mutex<Buckets>,
}

struct Buckets {
    full_at: HashMap<Principal, Instant>,
    look_at: usize,
}

impl Pace {
    /// Returns a limit of calls per second; `None` for zero.
    pub(super) fn new(calls_per_second: u32) -> Option<Self> {
        let interval = Duration::from_secs(1).checked_div(calls_per_second)?;
        let buckets = Buckets { full_at: HashMap::new(), look_at: KEPT };
        Some(Self { interval, buckets: Mutex::new(buckets) })
    }

    /// Takes one call out of a principal's bucket, or returns the time until one is available.
    pub(super) fn take(&self, principal: &Principal) -> Result<(), Duration> {
        let now = Instant::now();
        // The capacity of two seconds, less the call that is taken.
        let depth = Duration::from_secs(2).saturating_sub(self.interval);
        let mut buckets = self.buckets.lock();
        if let Some(full_at) = buckets.full_at.get_mut(principal) {
            let missing = full_at.saturating_duration_since(now);
            let wait = missing.saturating_sub(depth);
            if !wait.is_zero() {
                return Err(wait);
            }
            *full_at = now + missing + self.interval;
            return Ok(());
        }
        if buckets.full_at.len() >= buckets.look_at {
            buckets.full_at.retain(|_, full_at| *full_at > now);
            buckets.look_at = KEPT.max(buckets.full_at.len() * 2);
        }
        buckets.full_at.insert(principal.clone(), now + self.interval);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_crowd_of_principals_is_forgotten_once_it_is_gone() {
        let pace = Pace::new(100).expect("a pace");
        let kept = || pace.buckets.lock().full_at.len();
        for crowd in 0..20 {
            for at in 0..KEPT {
                pace.take(&Principal::new(format!("{crowd} {at}"))).expect("a call");
            }
            assert!(kept() <= 2 * KEPT, "{} are kept", kept());
            advance(Duration::from_millis(10)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_is_slowed_is_not_forgotten_in_a_crowd() {
        let pace = Pace::new(1).expect("a pace");
        let ann = Principal::new("ann");
        assert_eq!([(); 3].map(|()| pace.take(&ann).is_ok()), [true, true, false]);
        for at in 0..3 * KEPT {
            pace.take(&Principal::new(at.to_string())).expect("a call");
        }
        assert_eq!(pace.take(&ann), Err(Duration::from_secs(1)));
    }
}
