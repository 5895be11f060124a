//! The time that scripts compute, and the thread that ends those which compute too long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two looks at the scripts at work.
const INTERVAL: Duration = Duration::from_millis(20);

/// The time that an engine has to end by itself once its script is over.
const SLACK: Duration = Duration::from_millis(40);

/// A function that is called once, when the script is stopped.
type OnStop = Box<dyn FnOnce() + Send>;

/// The time that one script has computed, and whether it is over.
pub(crate) struct ComputeClock {
    limit: Duration,
    stopped: AtomicBool,
    time: Mutex<ComputeTime>,
    /// Called once, if the engine does not end by itself.
    abandon: Box<dyn Fn() + Send + Sync>,
    on_stop: Mutex<Option<OnStop>>,
}

#[derive(Default)]
struct ComputeTime {
    before: Duration,
    since: Option<Instant>,
}

impl ComputeClock {
    /// Returns a clock that runs, and calls `abandon` if the engine does not end in time.
    pub(crate) fn start(limit: Duration, abandon: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        let clock = Arc::new(Self::new(limit, Box::new(abandon)));
        watch(&clock);
        clock
    }

    fn new(limit: Duration, abandon: Box<dyn Fn() + Send + Sync>) -> Self {
        let time = ComputeTime { before: Duration::ZERO, since: Some(Instant::now()) };
        Self {
            limit,
            stopped: AtomicBool::new(false),
            time: Mutex::new(time),
            abandon,
            on_stop: Mutex::default(),
        }
    }

    fn time(&self) -> MutexGuard<'_, ComputeTime> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn pause(&self) {
        let mut time = self.time();
        if let Some(since) = time.since.take() {
            time.before += since.elapsed();
        }
    }

    pub(crate) fn go_on(&self) {
        self.time().since = Some(Instant::now());
    }

    /// Goes on, as of a time that has passed.
    #[cfg(all(feature = "confined", unix))]
    pub(crate) fn go_on_from(&self, begun: Instant) {
        self.time().since = Some(begun);
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        let on_stop = self.on_stop.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(on_stop) = on_stop {
            on_stop();
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    fn computed(&self) -> Duration {
        let time = self.time();
        time.before + time.since.map(|since| since.elapsed()).unwrap_or_default()
    }

    pub(crate) fn is_late(&self) -> bool {
        self.computed() > self.limit
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_stopped() || self.is_late()
    }
}

#[cfg(all(feature = "confined", unix))]
impl ComputeClock {
    /// Returns a clock that runs, and that no thread looks at: the engine does.
    pub(crate) fn unwatched(limit: Duration) -> Arc<Self> {
        Arc::new(Self::new(limit, Box::new(|| {})))
    }

    /// Sets the function that is called when the script is stopped, at once if it was.
    pub(crate) fn on_stop(&self, function: impl FnOnce() + Send + 'static) {
        *self.on_stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(function));
        if self.is_stopped() {
            self.stop();
        }
    }
}

/// The scripts at work in this process.
#[derive(Default)]
struct Watch {
    scripts: Mutex<Vec<Weak<ComputeClock>>>,
    added: Condvar,
}

/// Adds a script to those that the thread of the process looks at.
fn watch(clock: &Arc<ComputeClock>) {
    static WATCH: OnceLock<Arc<Watch>> = OnceLock::new();
    let watch = WATCH.get_or_init(|| {
        let watch = Arc::new(Watch::default());
        let own = Arc::clone(&watch);
        // Without the thread, an engine is still asked to end by `Host::is_over`.
        let _ = thread::Builder::new().name("script-watch".to_owned()).spawn(move || own.run());
        watch
    });
    watch.scripts().push(Arc::downgrade(clock));
    watch.added.notify_one();
}

impl Watch {
    fn scripts(&self) -> MutexGuard<'_, Vec<Weak<ComputeClock>>> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            let scripts = self.scripts();
            drop(
                self.added
                    .wait_while(scripts, |scripts| scripts.is_empty())
                    .unwrap_or_else(PoisonError::into_inner),
            );
            thread::sleep(INTERVAL);
            let mut late = Vec::new();
            self.scripts().retain(|script| {
                let Some(script) = script.upgrade() else { return false };
                let is_late = script.computed() > script.limit + SLACK;
                if is_late {
                    late.push(script);
                }
                !is_late
            });
            for script in late {
                script.stop();
                (script.abandon)();
            }
        }
    }
}
