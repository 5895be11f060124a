//! Subscribers of spans and events, which all tests of a process share.

use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber};

static SUBSCRIBED: RwLock<()> = RwLock::new(());

/// A subscriber for the thread of a test. No other test has one meanwhile, and none that is
/// [`untraced`] runs.
pub struct Traced {
    guard: Option<DefaultGuard>,
    _alone: RwLockWriteGuard<'static, ()>,
}

/// Sets the subscriber of a thread.
pub fn traced(subscriber: impl Subscriber + Send + Sync + 'static) -> Traced {
    let alone = SUBSCRIBED.write().unwrap_or_else(PoisonError::into_inner);
    Traced { guard: Some(tracing::subscriber::set_default(subscriber)), _alone: alone }
}

impl Drop for Traced {
    fn drop(&mut self) {
        self.guard.take();
        // Spans stay on else until there is another subscriber.
        tracing::callsite::rebuild_interest_cache();
    }
}

/// Has no test of the process be [`traced`] until the value is dropped.
pub fn untraced() -> RwLockReadGuard<'static, ()> {
    SUBSCRIBED.read().unwrap_or_else(PoisonError::into_inner)
}

/// Has spans and events be seen by the subscriber of a test. While a process has one subscriber, a
/// span that is made first on the thread of another test is seen by nobody, then and later
/// (<https://github.com/tokio-rs/tracing/issues/3611>).
pub(crate) fn ask_every_subscriber() {
    static OTHERS: OnceLock<[Dispatch; 2]> = OnceLock::new();
    OTHERS.get_or_init(|| [(); 2].map(|()| Dispatch::new(Nobody)));
}

/// A subscriber that wants nothing.
struct Nobody;

impl Subscriber for Nobody {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        false
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::OFF)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
