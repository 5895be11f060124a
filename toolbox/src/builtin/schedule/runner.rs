//! The runner of due schedules.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use tokio::task::JoinHandle;

use super::clock::{Clock, SystemClock};
use super::repeat::RepeatRule;
use super::store::{Schedule, Store};
use crate::context::rules::{Rules, ToolRule};
use crate::context::{Taint, ToolContext};
use crate::store::StoreError;

/// The longest interval between two reads of the store, for schedules that others create and clocks
/// that are set.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum count of missed times.
const MOST_MISSED: u32 = 10_000;

/// A due time of a schedule.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Occurrence {
    /// The schedule, as it is after this occurrence.
    pub schedule: Schedule,
    /// The planned time. Where several have passed, the first of them.
    pub planned: SystemTime,
    /// The number of further times that have passed since, which this occurrence stands for: the
    /// program did not run, or the clock was set forward. Counted up to 10 000.
    pub missed: u32,
}

impl Occurrence {
    /// Returns the context to run it in: that of the principal and the conversation it was created
    /// in, with the tools forbidden that were forbidden there, and marked as a [`ScheduledRun`].
    /// Where that conversation was [tainted](Taint), so is this one, and its prompt counts as
    /// written by others.
    ///
    /// The rules of the box apply in addition, as they are then.
    #[must_use]
    pub fn context(&self) -> ToolContext {
        let schedule = &self.schedule;
        let run = ScheduledRun { schedule: schedule.id };
        let context = ToolContext::new().with(schedule.owner.clone()).with(run).unattended();
        let mut rules = Rules::default();
        for name in &schedule.denied {
            rules.blacklist(ToolRule::new(name));
        }
        let context = context.with_rules(&rules);
        let context =
            if schedule.tainted { context.with(Taint::begun_by_others()) } else { context };
        match &schedule.conversation {
            Some(conversation) => context.with(conversation.clone()),
            None => context,
        }
    }
}

/// Marks a call that is made because a schedule came due; such calls create no schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduledRun {
    /// The number of the schedule.
    pub schedule: u64,
}

/// Returns due schedules: every occurrence to one runner, once, across restarts and programs that
/// share the store.
///
/// An occurrence is marked in the store, on the disk, before it is returned. So it happens **at
/// most once**: if the program is killed between that and the end of the work, the work is not done
/// again. Where the program did not run at the time, or the clock was set forward, all that a
/// schedule missed becomes one [`Occurrence`], which says so. Where the clock was set back, what
/// has happened does not happen again.
///
/// ```no_run
/// use toolbox::store::SqliteStore;
/// use toolbox::builtin::schedule::{Runner, Schedules};
/// # async fn answer(_: toolbox::ToolContext, _: &str) {}
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SqliteStore::open("agent.db")?;
/// let tools = Schedules::new(store.clone()).time_zone("Europe/Berlin")?;
/// let mut runner = Runner::new(store);
/// loop {
///     let due = runner.next().await?;
///     answer(due.context(), &due.schedule.prompt).await;
/// }
/// # }
/// ```
pub struct Runner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// An occurrence that is being marked. It outlives a dropped future of `next`.
    marking: Option<(Occurrence, JoinHandle<Result<bool, StoreError>>)>,
    /// The last read of the store; before the first, occurrences in it may be ahead of the clock.
    last_read: Option<SystemTime>,
}

impl Runner {
    /// Returns a runner over a store, by the clock of the system.
    #[must_use]
    pub fn new(store: impl Store + 'static) -> Self {
        Self {
            store: Arc::new(store),
            clock: Arc::new(SystemClock),
            marking: None,
            last_read: None,
        }
    }

    /// Replaces the clock. Default: that of the system.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Waits until something is due, and returns it. It reads the store every second.
    ///
    /// # Errors
    ///
    /// Those of the store. Nothing is lost: call it again, after a while.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses nothing: an occurrence that was marked for it is returned by the
    /// next call.
    pub async fn next(&mut self) -> Result<Occurrence, StoreError> {
        loop {
            if let Some((_, marked)) = &mut self.marking {
                let marked = marked.await;
                let due = self.marking.take().map(|(due, _)| due);
                let won =
                    marked.unwrap_or_else(|error| Err(StoreError::Failed(Arc::new(error))))?;
                if let Some(due) = due.filter(|_| won) {
                    return Ok(due);
                }
            }
            let now = self.clock.now();
            if self.last_read.is_none_or(|last_read| now < last_read) {
                self.go_back(now).await?;
            }
            self.last_read = Some(now);
            let earliest = self.store.earliest().await?;
            match earliest.and_then(|schedule| Some((schedule.next?, schedule))) {
                Some((planned, schedule)) if planned <= now => self.mark(schedule, planned, now),
                Some((planned, _)) => {
                    let left = planned.duration_since(now).unwrap_or_default();
                    tokio::time::sleep(left.min(READ_INTERVAL)).await;
                }
                None => tokio::time::sleep(READ_INTERVAL).await,
            }
        }
    }

    /// Begins to mark an occurrence in the store.
    fn mark(&mut self, mut schedule: Schedule, planned: SystemTime, now: SystemTime) {
        let (next, missed) = following(&schedule, planned, now);
        schedule.next = next;
        schedule.enabled = next.is_some();
        schedule.last = Some(planned);
        schedule.fired = Some(now);
        let (store, marked) = (Arc::clone(&self.store), schedule.clone());
        let marking = tokio::spawn(async move { store.replace(marked).await });
        schedule.version += 1;
        self.marking = Some((Occurrence { schedule, planned, missed }, marking));
    }

    /// Resets schedules that occurred by a clock which was ahead: their next time counts from now
    /// again.
    async fn go_back(&self, now: SystemTime) -> Result<(), StoreError> {
        for mut schedule in self.store.ahead_of(now).await? {
            let Some(last) = schedule.last else { continue };
            schedule.fired = Some(now);
            schedule.next = following(&schedule, last, now).0;
            // A concurrent change by another program wins.
            self.store.replace(schedule).await?;
        }
        Ok(())
    }
}

/// Returns the next time of a schedule after an occurrence at `planned`, and the number of times
/// that have passed since.
fn following(
    schedule: &Schedule,
    planned: SystemTime,
    now: SystemTime,
) -> (Option<SystemTime>, u32) {
    let (Ok(planned), Ok(now)) = (Timestamp::try_from(planned), Timestamp::try_from(now)) else {
        return (None, 0);
    };
    let Ok(rule) =
        RepeatRule::new(&schedule.repeat, &schedule.time_zone, schedule.minimum_interval)
    else {
        tracing::error!(
            id = schedule.id,
            "a schedule cannot be read, and does not happen any more"
        );
        return (None, 0);
    };
    let mut missed = 0;
    let mut at = rule.following(planned, planned);
    while at.is_some_and(|at| at <= now) && missed < MOST_MISSED {
        missed += 1;
        at = at.and_then(|at| rule.following(at, at));
    }
    if at.is_some_and(|at| at <= now) {
        at = rule.following(planned, now);
    }
    (at.map(SystemTime::from), missed)
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("marking", &self.marking.is_some()).finish_non_exhaustive()
    }
}
