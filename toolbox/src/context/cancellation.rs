//! Cancellation of a call and of everything started by it.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::watch;

use crate::future::BoxFuture;

/// A token that is cancelled once, and notifies all holders of a clone or a child.
///
/// A child is cancelled with its parent; cancelling a child leaves the parent alone. With the
/// feature `tokio-util`, a token of that crate converts to a child of it, and goes wherever one of
/// these does: `agent.run(task).with_cancellation(token.clone())`.
///
/// ```
/// use toolbox::context::CancellationToken;
///
/// let run = CancellationToken::new();
/// let call = run.child_token();
/// run.cancel();
/// assert!(call.is_cancelled());
/// ```
#[derive(Clone)]
pub struct CancellationToken {
    own: Arc<watch::Sender<bool>>,
    parent: Option<Arc<dyn CancellationSource>>,
}

/// The parent of a token: a token of this crate, or of another.
pub(crate) trait CancellationSource: Send + Sync {
    fn is_cancelled(&self) -> bool;

    /// Waits until the source is cancelled, as a boxed future: tokens may nest to any depth.
    fn cancelled(&self) -> BoxFuture<'_, ()>;
}

impl CancellationSource for CancellationToken {
    fn is_cancelled(&self) -> bool {
        self.is_cancelled()
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.cancelled())
    }
}

impl CancellationToken {
    /// Returns a token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self { own: Arc::new(watch::Sender::new(false)), parent: None }
    }

    /// Returns a token that is cancelled with this one, or alone.
    #[must_use]
    pub fn child_token(&self) -> Self {
        Self::below(self.clone())
    }

    /// Returns a token that is cancelled with `source`, or alone.
    pub(crate) fn below(source: impl CancellationSource + 'static) -> Self {
        Self { parent: Some(Arc::new(source)), ..Self::new() }
    }

    /// Cancels this token, its clones and its children. A second call does nothing.
    pub fn cancel(&self) {
        self.own.send_replace(true);
    }

    /// Returns `true` if this token or one above it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.own.borrow() || self.parent.as_ref().is_some_and(|parent| parent.is_cancelled())
    }

    /// Waits until the token is cancelled.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves nothing behind.
    pub async fn cancelled(&self) {
        match &self.parent {
            None => self.thrown().await,
            Some(parent) => either(self.thrown(), parent.cancelled()).await,
        }
    }

    /// Waits until the token is cancelled, in a future that borrows nothing.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves nothing behind.
    pub async fn cancelled_owned(self) {
        self.cancelled().await;
    }

    /// Runs `future` until it ends or the token is cancelled; `None` if it is cancelled first.
    ///
    /// # Cancellation
    ///
    /// Dropping the future drops `future`.
    pub async fn run_until_cancelled<F: Future>(&self, future: F) -> Option<F::Output> {
        let (mut cancelled, mut future) = (pin!(self.cancelled()), pin!(future));
        poll_fn(|context| match cancelled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => future.as_mut().poll(context).map(Some),
        })
        .await
    }

    async fn thrown(&self) {
        // The sender is alive as long as `self` is, so waiting ends only by cancellation.
        let _ = self.own.subscribe().wait_for(|cancelled| *cancelled).await;
    }
}

/// Waits for whichever future ends first.
async fn either(first: impl Future<Output = ()>, mut second: BoxFuture<'_, ()>) {
    let mut first = pin!(first);
    poll_fn(|context| {
        if first.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        second.as_mut().poll(context)
    })
    .await;
}

impl Default for CancellationToken {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancellationToken").field("cancelled", &self.is_cancelled()).finish()
    }
}
