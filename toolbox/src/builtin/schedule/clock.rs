//! The clock of schedules.

use std::sync::Arc;
use std::time::SystemTime;

/// A wall clock: that of the system, or one that a test sets.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a clock",
    label = "this returns no time",
    note = "implement `toolbox::builtin::schedule::Clock` for it, or leave it out: the system's is the default"
)]
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

#[diagnostic::do_not_recommend]
impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> SystemTime {
        (**self).now()
    }
}
