//! Who is at work in a service, and how all of it comes to an end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::CancellationToken;

/// How long calls that were cancelled get to say so, beyond any grace.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(1);

/// The calls and connections of one service while they last.
#[derive(Clone)]
pub(super) struct Running {
    calls: Arc<watch::Sender<usize>>,
    /// Requests over HTTP, until the last byte of their answers.
    requests: Arc<watch::Sender<usize>>,
    connections: Arc<watch::Sender<usize>>,
    /// Nothing new is read or accepted after this, and what waits for changes of the box ends.
    closing: CancellationToken,
    /// Every call that still runs ends after this.
    ending: CancellationToken,
}

/// Counts as one as long as it lives.
pub(super) struct Place(Arc<watch::Sender<usize>>);

impl Place {
    fn take(count: &Arc<watch::Sender<usize>>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(Arc::clone(count))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Ends everything when it is dropped, whatever way that comes about.
pub(super) struct EndOnDrop(Running);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.closing.cancel();
        self.0.ending.cancel();
    }
}

impl Running {
    pub(super) fn new() -> Self {
        Self {
            calls: Arc::default(),
            requests: Arc::default(),
            connections: Arc::default(),
            closing: CancellationToken::new(),
            ending: CancellationToken::new(),
        }
    }

    /// Returns a place for one more call, unless there are `limit` already.
    pub(super) fn call(&self, limit: usize) -> Option<Place> {
        let mut taken = false;
        self.calls.send_if_modified(|count| {
            taken = *count < limit;
            *count += usize::from(taken);
            taken
        });
        taken.then(|| Place(Arc::clone(&self.calls)))
    }

    pub(super) fn request(&self) -> Place {
        Place::take(&self.requests)
    }

    pub(super) fn connection(&self) -> Place {
        Place::take(&self.connections)
    }

    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    pub(super) fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    /// Gives requests that are being answered `grace`, and cancels the calls that are left.
    pub(super) async fn wind_down(&self, grace: Duration) {
        self.closing.cancel();
        if timeout(grace, none(&self.requests)).await.is_err() {
            tracing::warn!(?grace, "calls that outlast the grace period are cancelled");
        }
        self.ending.cancel();
        // They answer at once; a thread that blocks is not waited for.
        let _ = timeout(LAST_WORDS, none(&self.requests)).await;
    }

    pub(super) fn end_on_drop(&self) -> EndOnDrop {
        EndOnDrop(self.clone())
    }

    /// Waits until every connection and every call has ended, but not for long.
    pub(super) async fn settle(&self) {
        let all = async {
            none(&self.connections).await;
            none(&self.calls).await;
        };
        if timeout(LAST_WORDS * 3, all).await.is_err() {
            tracing::warn!("a connection did not end in time");
        }
    }
}

async fn none(count: &watch::Sender<usize>) {
    // The sender is held by `self`, so the wait ends by the count alone.
    let _ = count.subscribe().wait_for(|count| *count == 0).await;
}
