//! Processes that are ready before a script needs them.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::ConfinedError;
use super::frames::Request;
use super::process::{ScriptProcess, ScriptProgram};

/// A bounded number of processes that wait for scripts. Each runs one.
#[derive(Debug)]
pub(super) struct Pool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    program: ScriptProgram,
    size: usize,
    state: Mutex<PoolState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct PoolState {
    ready: Vec<ScriptProcess>,
    /// Those whose script is over: their end is waited for elsewhere than in the way of scripts.
    over: Vec<ScriptProcess>,
    /// `true` once a process was taken since the last attempt to start one.
    taken: bool,
    closed: bool,
}

impl Pool {
    /// Returns a pool with its first process. It starts the others once a script has taken that.
    pub(super) fn new(program: ScriptProgram, size: usize, first: ScriptProcess) -> Self {
        let ready = if size > 0 { vec![first] } else { Vec::new() };
        let state = PoolState { ready, ..PoolState::default() };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        let shared = Arc::new(Shared { program, size, state, changed });
        let own = Arc::clone(&shared);
        // Without the thread, each script starts its process.
        let _ = thread::Builder::new().name("script-pool".to_owned()).spawn(move || own.run());
        Self(shared)
    }

    /// Gives a script to a process that is ready; if there is none, starts one.
    pub(super) fn give(&self, script: &Request) -> Result<ScriptProcess, ConfinedError> {
        while let Some(mut process) = self.ready() {
            // One that has ended since has not begun the script.
            if process.give(script).is_ok() {
                return Ok(process);
            }
        }
        let mut started = self.0.program.start()?;
        started.give(script)?;
        Ok(started)
    }

    fn ready(&self) -> Option<ScriptProcess> {
        let ready = {
            let mut state = self.0.state();
            state.taken = true;
            state.ready.pop()
        };
        self.0.changed.notify_one();
        ready
    }

    /// Ends a process whose script is over.
    pub(super) fn give_back(&self, process: ScriptProcess) {
        self.0.state().over.push(process);
        self.0.changed.notify_one();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.closed = true;
        let left = (std::mem::take(&mut state.ready), std::mem::take(&mut state.over));
        drop(state);
        self.0.changed.notify_one();
        drop(left);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            let state = self.state();
            let idle = |state: &mut PoolState| {
                let starts = state.taken && state.ready.len() < self.size;
                state.over.is_empty() && !starts && !state.closed
            };
            let waited = self.changed.wait_while(state, idle);
            let mut state = waited.unwrap_or_else(PoisonError::into_inner);
            if state.closed {
                return;
            }
            let over = std::mem::take(&mut state.over);
            let starts = state.ready.len() < self.size;
            drop(state);
            drop(over);
            let started = starts.then(|| self.program.start());
            let mut state = self.state();
            match started {
                Some(Ok(process)) if !state.closed => state.ready.push(process),
                // A system that cannot start one now is asked again by the next script.
                Some(Err(_)) => state.taken = false,
                _ => {}
            }
        }
    }
}
