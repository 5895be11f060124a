//! Who is at work in a service, and how all of it comes to an end.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::pace::Pace;
use crate::context::{CancellationToken, Principal};
use crate::mcp::count::{Count, Place};

/// How long calls that were cancelled get to say so, beyond any grace.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(1);

/// The calls and connections of one service while they last.
#[derive(Clone)]
pub(super) struct Running {
    calls: Count,
    pace: Option<Arc<Pace>>,
    /// Requests over HTTP, until the last byte of their answers.
    requests: Count,
    connections: Count,
    /// Nothing new is read or accepted after this, and what waits for changes of the box ends.
    closing: CancellationToken,
    /// Every call that still runs ends after this.
    ending: CancellationToken,
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
    /// Begins with nothing at work; each principal may make so many calls a second, and any number
    /// where that is zero.
    pub(super) fn new(calls_per_second: u32) -> Self {
        Self {
            calls: Count::default(),
            pace: Pace::new(calls_per_second).map(Arc::new),
            requests: Count::default(),
            connections: Count::default(),
            closing: CancellationToken::new(),
            ending: CancellationToken::new(),
        }
    }

    /// Counts one more call of a principal, or says when it may be made.
    pub(super) fn admit(&self, principal: &Principal) -> Result<(), Duration> {
        self.pace.as_ref().map_or(Ok(()), |pace| pace.take(principal))
    }

    /// Returns a place for one more call, unless there are `limit` already.
    pub(super) fn call(&self, limit: usize) -> Option<Place> {
        self.calls.take_below(limit)
    }

    pub(super) fn request(&self) -> Place {
        self.requests.take()
    }

    pub(super) fn connection(&self) -> Place {
        self.connections.take()
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
        if timeout(grace, self.requests.none()).await.is_err() {
            tracing::warn!(?grace, "calls that outlast the grace period are cancelled");
        }
        self.ending.cancel();
        // They answer at once; a thread that blocks is not waited for.
        let _ = timeout(LAST_WORDS, self.requests.none()).await;
    }

    pub(super) fn end_on_drop(&self) -> EndOnDrop {
        EndOnDrop(self.clone())
    }

    /// Waits until every connection and every call has ended, but not for long.
    pub(super) async fn settle(&self) {
        let all = async {
            self.connections.none().await;
            self.calls.none().await;
        };
        if timeout(LAST_WORDS * 3, all).await.is_err() {
            tracing::warn!("a connection did not end in time");
        }
    }
}
