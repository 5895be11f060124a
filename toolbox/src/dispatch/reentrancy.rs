//! Reentrancy of limits: a call within a call needs no permit that its parent holds, and so never
//! waits for it.

use std::sync::Arc;

use tokio::sync::Semaphore;

tokio::task_local! {
    static HELD: HeldLimits;
}

/// The limits that the current task holds a permit of.
#[derive(Clone, Default)]
pub(super) struct HeldLimits(Arc<[usize]>);

impl HeldLimits {
    /// Returns the limits of the current task.
    pub(super) fn current() -> Self {
        HELD.try_with(Self::clone).unwrap_or_default()
    }

    pub(super) fn holds(&self, limit: &Arc<Semaphore>) -> bool {
        self.0.contains(&Arc::as_ptr(limit).addr())
    }

    /// Returns these limits with `limits` added.
    pub(super) fn and<'a>(&self, limits: impl Iterator<Item = &'a Arc<Semaphore>>) -> Self {
        let added = limits.map(|limit| Arc::as_ptr(limit).addr());
        Self(self.0.iter().copied().chain(added).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs a future in a scope that holds these limits.
    pub(super) async fn scope<F: Future>(self, future: F) -> F::Output {
        HELD.scope(self, future).await
    }

    /// Runs a function in a scope that holds these limits.
    pub(super) fn sync_scope<T>(self, function: impl FnOnce() -> T) -> T {
        HELD.sync_scope(self, function)
    }
}
