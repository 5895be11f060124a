//! Places under the limits of a call: its box's, its tool's, and the one of exclusive tools.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::admitted::Waiting;
use crate::collection::BoxSettings;
use crate::dispatch::reentrancy::Held;

/// The places that a call holds while it runs; given back when dropped.
#[derive(Default)]
pub(super) struct Places {
    permits: Vec<OwnedSemaphorePermit>,
    pub(super) held: Held,
}

impl Waiting {
    /// Returns the limits that the call needs a place under, and does not have one yet.
    fn limits(&self, held: &Held) -> Vec<&Arc<Semaphore>> {
        let running = &self.tool.inner().running;
        let settings: &BoxSettings = &self.shared.settings;
        // The order is the same for every call, so two calls never wait for each other.
        [
            running.exclusive.then_some(&settings.exclusive),
            running.limit.as_ref(),
            settings.concurrency.as_ref(),
        ]
        .into_iter()
        .flatten()
        .filter(|limit| !held.holds(limit))
        .collect()
    }

    /// Takes the places that are free now; `None` if the call has to wait for one.
    pub(super) fn places_now(&self) -> Option<Places> {
        let running = &self.tool.inner().running;
        if !running.exclusive
            && running.limit.is_none()
            && self.shared.settings.concurrency.is_none()
        {
            return Some(Places::default());
        }
        let held = Held::current();
        let limits = self.limits(&held);
        let permits = limits.iter().map(|limit| Arc::clone(limit).try_acquire_owned().ok());
        let permits = permits.collect::<Option<Vec<_>>>()?;
        Some(Places { permits, held: held.and(limits.into_iter()) })
    }

    /// Waits for the places that the call needs.
    pub(super) async fn places(&self) -> Places {
        let held = Held::current();
        let limits = self.limits(&held);
        let mut permits = Vec::with_capacity(limits.len());
        for limit in &limits {
            // The limits are never closed.
            permits.extend(Arc::clone(limit).acquire_owned().await);
        }
        Places { permits, held: held.and(limits.into_iter()) }
    }
}

impl Places {
    pub(super) fn is_empty(&self) -> bool {
        self.permits.is_empty()
    }
}
