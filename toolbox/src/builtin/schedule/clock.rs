//! The clock of schedules.

use std::sync::Arc;
use std::time::SystemTime;

/// A wall clock: that of the system, or one that a test sets.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use toolbox::builtin::schedule::{Clock, Schedules};
/// use toolbox::store::SqliteStore;
///
/// /// Stands still.
/// struct Stopped(SystemTime);
///
/// impl Clock for Stopped {
///     fn now(&self) -> SystemTime {
///         self.0
///     }
/// }
///
/// let noon = Stopped(SystemTime::UNIX_EPOCH + Duration::from_secs(43_200));
/// let schedules = Schedules::new(SqliteStore::in_memory().unwrap()).with_clock(noon);
/// ```
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
