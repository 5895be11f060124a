//! The clock of schedules.

use std::sync::Arc;
use std::time::SystemTime;

/// A wall clock: that of the system, or one that a test sets.
pub trait Clock: Send + Sync {
    /// Returns the time.
    fn now(&self) -> SystemTime;
}

/// The clock of the system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> SystemTime {
        (**self).now()
    }
}
