//! The running calls and connections of a service, and their shutdown.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::pace::Pace;
use crate::context::{CancellationToken, Principal};
use crate::mcp::count::{Count, CountGuard};

/// The time for cancelled calls to report their end, after any grace period.
pub(super) const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// The calls and connections of one service; clones share them.
#[derive(Clone)]
pub(super) struct ServiceActivity(Arc<Activity>);

struct Activity {
    calls: Count,
    pace: Option<Pace>,
    subscriptions: Count,
    max_subscriptions: usize,
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
        self.0.closing().cancel();
        self.0.ending().cancel();
    }
}

impl ServiceActivity {
    /// Returns an idle state; each principal may make this many calls per second, without a limit
    /// if zero, and all together may open this many subscriptions.
    pub(super) fn new(calls_per_second: u32, max_subscriptions: usize) -> Self {
        Self(Arc::new(Activity {
            calls: Count::default(),
            pace: Pace::new(calls_per_second),
            subscriptions: Count::default(),
            max_subscriptions,
            requests: Count::default(),
            connections: Count::default(),
            closing: CancellationToken::new(),
            ending: CancellationToken::new(),
        }))
    }

    /// Counts one more call of a principal, or returns the time until it may be made. Those without
    /// one count as one.
    pub(super) fn admit(&self, principal: Option<&Principal>) -> Result<(), Duration> {
        let Some(pace) = &self.0.pace else { return Ok(()) };
        match principal {
            Some(principal) => pace.take(principal),
            None => pace.take(&Principal::default()),
        }
    }

    /// Returns a guard for one more subscription, unless there are too many.
    pub(super) fn subscription(&self) -> Option<CountGuard> {
        self.0.subscriptions.take_below(self.0.max_subscriptions)
    }

    /// Returns a guard for one more call, unless there are `limit` already.
    pub(super) fn call(&self, limit: usize) -> Option<CountGuard> {
        self.0.calls.take_below(limit)
    }

    pub(super) fn request(&self) -> CountGuard {
        self.0.requests.take()
    }

    pub(super) fn connection(&self) -> CountGuard {
        self.0.connections.take()
    }

    pub(super) fn closing(&self) -> &CancellationToken {
        &self.0.closing
    }

    pub(super) fn ending(&self) -> &CancellationToken {
        &self.0.ending
    }

    /// Waits up to `grace` for running requests, and cancels the remaining calls.
    pub(super) async fn wind_down(&self, grace: Duration) {
        self.0.closing.cancel();
        if timeout(grace, self.0.requests.none()).await.is_err() {
            tracing::warn!(?grace, "calls that outlast the grace period are cancelled");
        }
        self.0.ending.cancel();
        // Cancelled calls answer at once; blocked threads are not waited for.
        let _ = timeout(CANCEL_TIMEOUT, self.0.requests.none()).await;
    }

    pub(super) fn end_on_drop(&self) -> EndOnDrop {
        EndOnDrop(self.clone())
    }

    /// Waits for a limited time until every connection and every call has ended.
    pub(super) async fn settle(&self) {
        let all = async {
            self.0.connections.none().await;
            self.0.calls.none().await;
        };
        if timeout(CANCEL_TIMEOUT * 3, all).await.is_err() {
            tracing::warn!("a connection did not end in time");
        }
    }
}
