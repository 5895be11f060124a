//! A script at work on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::clock::ComputeClock;
use crate::engine::{Engine, Script, ScriptError};
use crate::functions::Functions;
use crate::host::{Answer, Console, Host, Progress, soon};
use crate::limits::Limits;

/// The stack of a thread beside that of its engine, in bytes.
pub(crate) const OWN_STACK: usize = 1 << 20;

/// The largest stack of an engine, in bytes.
pub(crate) const MOST_STACK: usize = 4 << 20;

/// A script at work. It ends when this is dropped.
pub(crate) struct Session {
    progress: UnboundedReceiver<Progress>,
    results: Sender<Answer>,
    clock: Arc<ComputeClock>,
}

/// The number of engines that are at work, also of those whose script was given up.
pub(crate) type EnginesAtWork = Arc<AtomicUsize>;

/// One engine at work, counted until it has ended.
pub(crate) struct EngineSlot(EnginesAtWork);

impl EngineSlot {
    /// Takes a slot, unless there is none left.
    pub(crate) fn take(engines: &EnginesAtWork, most: usize) -> Option<Self> {
        let next = |at_work| (at_work < most).then_some(at_work + 1);
        engines.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok()?;
        Some(Self(Arc::clone(engines)))
    }
}

impl Drop for EngineSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Session {
    /// Starts a script. `recorded` is what it was told before its first calls, when it ran before.
    pub(crate) fn start(
        engine: Arc<dyn Engine>,
        script: Script,
        functions: Functions,
        limits: Limits,
        slot: EngineSlot,
        recorded: Vec<String>,
    ) -> Result<Self, ScriptError> {
        let (sender, progress) = unbounded_channel();
        let (results, answers) = channel();
        let late = sender.clone();
        let clock = ComputeClock::start(limits.compute, move || {
            let end = Err(too_late(&limits));
            let _ = late.send(Progress::Ended { end, console: Console::default() });
        });
        let own = Arc::clone(&clock);
        let work = move || {
            let _slot = slot;
            let host =
                Host::new(functions, Arc::clone(&own), limits, sender.clone(), answers, recorded);
            let run = || engine.run(&script, &limits, host.clone());
            let mut end = catch_unwind(AssertUnwindSafe(run))
                .unwrap_or_else(|_| Err(ScriptError::new("the engine of the script panicked")));
            own.pause();
            if own.is_late() {
                end = Err(too_late(&limits));
            }
            let _ = sender.send(Progress::Ended { end, console: host.console() });
        };
        thread::Builder::new()
            .name("script".to_owned())
            .stack_size(limits.stack_bytes.min(MOST_STACK) + OWN_STACK)
            .spawn(work)
            .map_err(|error| ScriptError::new(format!("no thread for the script: {error}")))?;
        Ok(Self { progress, results, clock })
    }

    /// Waits until the script asks for calls, or has ended.
    pub(crate) async fn progress(&mut self) -> Progress {
        let gone = || Progress::Ended {
            end: Err(ScriptError::new("the engine of the script failed")),
            console: Console::default(),
        };
        if let Some(progress) = soon(|| self.progress.try_recv().ok()) {
            return progress;
        }
        self.progress.recv().await.unwrap_or_else(gone)
    }

    /// Lets the script go on with the results of its calls.
    pub(crate) fn answer(&self, answer: Answer) {
        // A script that has ended reports that.
        let _ = self.results.send(answer);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.clock.stop();
    }
}

fn too_late(limits: &Limits) -> ScriptError {
    ScriptError::new(format!(
        "the script was stopped: it computed longer than {} ms",
        limits.compute.as_millis()
    ))
}
