//! How many of something there are, and when the last of them is gone.

use std::sync::Arc;

use tokio::sync::watch;

/// A number of things that are there; clones count the same ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Count(Arc<watch::Sender<usize>>);

/// Counts as one as long as it lives.
pub(super) struct Place(Arc<watch::Sender<usize>>);

impl Count {
    pub(super) fn take(&self) -> Place {
        self.0.send_modify(|count| *count += 1);
        Place(Arc::clone(&self.0))
    }

    /// Returns a place for one more, unless there are `limit` already.
    #[cfg(feature = "mcp-server")]
    pub(super) fn take_below(&self, limit: usize) -> Option<Place> {
        let mut taken = false;
        self.0.send_if_modified(|count| {
            taken = *count < limit;
            *count += usize::from(taken);
            taken
        });
        taken.then(|| Place(Arc::clone(&self.0)))
    }

    /// Returns how many there are.
    #[cfg(feature = "mcp-server-http")]
    pub(super) fn get(&self) -> usize {
        *self.0.borrow()
    }

    /// Waits until there are none.
    pub(super) async fn none(&self) {
        // The sender is held by `self`, so the wait ends by the count alone.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
