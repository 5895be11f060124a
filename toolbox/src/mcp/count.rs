//! A counter of live items that can be waited on until it is zero.

use std::sync::Arc;

use tokio::sync::watch;

/// A counter of live items; clones share the count.
#[derive(Debug, Clone, Default)]
pub(super) struct Count(Arc<watch::Sender<usize>>);

/// Counts as one item until it is dropped.
pub(super) struct CountGuard(Arc<watch::Sender<usize>>);

impl Count {
    pub(super) fn take(&self) -> CountGuard {
        self.0.send_modify(|count| *count += 1);
        CountGuard(Arc::clone(&self.0))
    }

    /// Counts one more item, unless there are `limit` already.
    #[cfg(feature = "mcp-server")]
    pub(super) fn take_below(&self, limit: usize) -> Option<CountGuard> {
        let mut taken = false;
        self.0.send_if_modified(|count| {
            taken = *count < limit;
            *count += usize::from(taken);
            taken
        });
        taken.then(|| CountGuard(Arc::clone(&self.0)))
    }

    /// Returns the current count.
    #[cfg(feature = "mcp-server-http")]
    pub(super) fn get(&self) -> usize {
        *self.0.borrow()
    }

    /// Waits until the count is zero.
    pub(super) async fn none(&self) {
        // The sender is held by `self`, so the wait ends only by the count.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
