//! Permits for the limits on concurrent calls: that of the box, that of the tool, and that of
//! exclusive tools.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::admitted::OwnedCall;
use crate::collection::BoxSettings;
use crate::dispatch::reentrancy::HeldLimits;

/// The permits that a call holds while it runs; released on drop.
#[derive(Default)]
pub(super) struct Permits {
    permits: Vec<OwnedSemaphorePermit>,
    pub(super) held: HeldLimits,
}

impl OwnedCall {
    /// Returns the limits that the call needs a permit of, and holds none of yet.
    fn limits(&self, held: &HeldLimits) -> Vec<&Arc<Semaphore>> {
        let running = &self.tool.inner().running;
        let settings: &BoxSettings = &self.shared.settings;
        // The order is the same for every call, so two calls never wait for each other.
        let mut limits = Vec::new();
        limits.extend(running.exclusive.then_some(&settings.exclusive));
        limits.extend(running.limit.as_ref());
        limits.extend(settings.concurrency.as_ref());
        limits.retain(|limit| !held.holds(limit));
        limits
    }

    /// Acquires the permits if all are free now; `None` if the call has to wait for one.
    pub(super) fn try_permits(&self) -> Option<Permits> {
        let running = &self.tool.inner().running;
        if !running.exclusive
            && running.limit.is_none()
            && self.shared.settings.concurrency.is_none()
        {
            return Some(Permits::default());
        }
        let held = HeldLimits::current();
        let limits = self.limits(&held);
        let permits = limits.iter().map(|limit| Arc::clone(limit).try_acquire_owned().ok());
        let permits = permits.collect::<Option<Vec<_>>>()?;
        Some(Permits { permits, held: held.and(limits.into_iter()) })
    }

    /// Waits for the permits that the call needs.
    pub(super) async fn permits(&self) -> Permits {
        let held = HeldLimits::current();
        let limits = self.limits(&held);
        let mut permits = Vec::with_capacity(limits.len());
        for limit in &limits {
            // The limits are never closed.
            permits.extend(Arc::clone(limit).acquire_owned().await);
        }
        Permits { permits, held: held.and(limits.into_iter()) }
    }
}

impl Permits {
    pub(super) fn is_empty(&self) -> bool {
        self.permits.is_empty()
    }
}
