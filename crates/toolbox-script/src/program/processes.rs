//! The confined processes of the program, started by a later script where they could not be at first.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::confined::{Confined, ConfinedError, not_started};
use crate::engine::{Engine, Script, ScriptError};
use crate::host::Host;
use crate::limits::Limits;

static PROCESSES: Attempts<Confined, Arc<ConfinedError>> = Attempts::new();

/// Returns the engine of confined processes, or the error of the last attempt to start one.
pub(super) fn started() -> Result<Confined, Arc<ConfinedError>> {
    PROCESSES.last(start)
}

fn start() -> Result<Confined, Arc<ConfinedError>> {
    Confined::start().map_err(Arc::new)
}

/// The engine where the last attempt failed: each script tries again.
pub(super) struct LateProcesses;

impl Engine for LateProcesses {
    fn language(&self) -> &str {
        crate::child::LANGUAGE
    }

    fn run(&self, script: &Script, limits: &Limits, host: Host) -> Result<String, ScriptError> {
        // The script does not compute while its process starts.
        host.clock().pause();
        let processes = PROCESSES.again(start);
        host.clock().go_on();
        processes.map_err(|error| not_started(&error))?.run(script, limits, host)
    }

    fn check(&self, script: &str, limits: &Limits) -> Result<(), ScriptError> {
        PROCESSES.again(start).map_err(|error| not_started(&error))?.check(script, limits)
    }
}

/// A value that is made once, by the first of the attempts that succeeds.
struct Attempts<T, E> {
    ended: AtomicU64,
    last: Mutex<Option<Result<T, E>>>,
}

impl<T: Clone, E: Clone> Attempts<T, E> {
    const fn new() -> Self {
        Self { ended: AtomicU64::new(0), last: Mutex::new(None) }
    }

    /// Returns the end of the last attempt; without one, makes it.
    fn last(&self, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let last = self.lock();
        last.clone().unwrap_or_else(|| self.attempt(last, make))
    }

    /// Returns the value; makes it where the last attempt failed. Callers that wait for an attempt
    /// share its end, so many at once make one.
    fn again(&self, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let before = self.ended.load(Ordering::Acquire);
        let last = self.lock();
        match &*last {
            Some(Ok(value)) => Ok(value.clone()),
            Some(Err(error)) if self.ended.load(Ordering::Acquire) > before => Err(error.clone()),
            _ => self.attempt(last, make),
        }
    }

    fn attempt(
        &self,
        mut last: MutexGuard<'_, Option<Result<T, E>>>,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let end = make();
        *last = Some(end.clone());
        self.ended.fetch_add(1, Ordering::Release);
        end
    }

    fn lock(&self) -> MutexGuard<'_, Option<Result<T, E>>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
