//! The running calls and connections of a service, and their shutdown.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::pace::Pace;
use crate::context::{CancellationToken, Principal};
use crate::mcp::count::{Count, CountGuard};

/// The time for cancelled calls to report their end, after any grace period.
pub(super) const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// The calls and connections of one service.
#[derive(Clone)]
pub(super) struct ServiceActivity {
    calls: Count,
    pace: Option<Arc<Pace>>,
    /// HTTP requests, until the last byte of their answers.
    requests: Count,
    connections: Count,
    /// Cancelled to stop reading and accepting; subscriptions to the box end.
    closing: CancellationToken,
    /// Cancelled to end every running call.
    ending: CancellationToken,
}

/// A guard that ends everything when dropped.
pub(super) struct EndOnDrop(ServiceActivity);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.closing.cancel();
        self.0.ending.cancel();
    }
}

impl ServiceActivity {
    /// Returns an idle state; each principal may make this many calls per second, without a limit
    /// if zero.
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

    /// Counts one more call of a principal, or returns the time until it may be made.
    pub(super) fn admit(&self, principal: &Principal) -> Result<(), Duration> {
        self.pace.as_ref().map_or(Ok(()), |pace| pace.take(principal))
    }

    /// Returns a guard for one more call, unless there are `limit` already.
    pub(super) fn call(&self, limit: usize) -> Option<CountGuard> {
        self.calls.take_below(limit)
    }

    pub(super) fn request(&self) -> CountGuard {
        self.requests.take()
    }

    pub(super) fn connection(&self) -> CountGuard {
        self.connections.take()
    }

    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    pub(super) fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    /// Waits up to `grace` for running requests, and cancels the remaining calls.
    pub(super) async fn wind_down(&self, grace: Duration) {
        self.closing.cancel();
        if timeout(grace, self.requests.none()).await.is_err() {
            tracing::warn!(?grace, "calls that outlast the grace period are cancelled");
        }
        self.ending.cancel();
        // Cancelled calls answer at once; blocked threads are not waited for.
        let _ = timeout(CANCEL_TIMEOUT, self.requests.none()).await;
    }

    pub(super) fn end_on_drop(&self) -> EndOnDrop {
        EndOnDrop(self.clone())
    }

    /// Waits for a limited time until every connection and every call has ended.
    pub(super) async fn settle(&self) {
        let all = async {
            self.connections.none().await;
            self.calls.none().await;
        };
        if timeout(CANCEL_TIMEOUT * 3, all).await.is_err() {
            tracing::warn!("a connection did not end in time");
        }
    }
}
