//! A timetable: `schedule_create`, `schedule_list`, `schedule_update`, `schedule_delete`, and the
//! runner of due schedules.

mod clock;
mod repeat;
mod runner;
mod sqlite;
mod store;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use clock::{Clock, SystemClock};
pub use repeat::{Day, Repeat};
pub use runner::{Occurrence, Runner, ScheduledRun};
pub use store::{Schedule, Store, UnreadableSchedule};

use crate::call::ToolError;
use crate::context::{Principal, Taint, ToolContext};
use crate::text::{QUOTED, quote};
use crate::toolset;
use repeat::RepeatRule;

/// A timetable of an agent.
///
/// | tool | does |
/// |---|---|
/// | `schedule_create` | creates a schedule: once, daily, weekly, monthly, on some days of the week, or by a cron expression |
/// | `schedule_list` | lists the schedules |
/// | `schedule_update` | changes the prompt or the times, switches a schedule off and on |
/// | `schedule_delete` | deletes one; several only with `all` |
///
/// A schedule holds a prompt: the text that the agent gets when the time comes. A [`Runner`] waits
/// for that time, and gives a context in which nothing may be called that could not be called where
/// the schedule was created. Schedules belong to the [`Principal`] of the call; no other sees or
/// changes them. A schedule that is acknowledged is on the disk. A prompt that was written in a
/// [tainted](crate::context::Taint) conversation taints the one in which it is run, and any in
/// which it is shown.
///
/// # Times
///
/// Times are those of the clocks in an IANA time zone, the [default one](Self::time_zone) or one
/// the model names.
///
/// | | |
/// |---|---|
/// | the clocks go forward over a time | it happens later, by as much as they skip: 02:30 becomes 03:30. A cron expression for a fixed time happens when the skipped hour ends, at 03:00; one for every so many minutes leaves the hour out |
/// | the clocks go back over a time | it happens once, the first time. A cron expression for every so many minutes happens in both hours |
/// | day 29, 30 or 31 of a shorter month | the last day of that month; a cron expression leaves the month out |
/// | a time that never comes, such as 30 February | refused when it is created, like one that is past |
///
/// # Limits
///
/// At most 100 schedules a principal ([`quota`](Self::quota)), at least 60 seconds between two
/// times of a schedule ([`minimum_interval`](Self::minimum_interval)). A call that is made because
/// a schedule came due creates no schedules, unless [that is
/// allowed](Self::allow_in_scheduled_runs).
///
/// ```
/// use toolbox::store::SqliteStore;
/// use toolbox::builtin::schedule::Schedules;
/// use toolbox::{ToolBox, ToolCall};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let schedules = Schedules::new(SqliteStore::in_memory()?).time_zone("Europe/Berlin")?;
/// let toolbox = ToolBox::from(schedules);
///
/// let arguments = r#"{
///     "prompt": "Water the ferns",
///     "when": {"repeat": "weekly", "day": "monday", "time": "09:00"}
/// }"#;
/// let created = toolbox.call(ToolCall::new("1", "schedule_create", arguments)).await;
/// let expected = r#"created schedule 1: "Water the ferns", weekly on monday at 09:00"#;
/// assert!(created.text().starts_with(expected));
///
/// let never = r#"{"prompt": "Rest", "when": {"repeat": "cron", "expression": "0 9 30 2 *"}}"#;
/// assert!(toolbox.call(ToolCall::new("2", "schedule_create", never)).await.is_error());
/// # Ok(())
/// # }
/// ```
pub struct Schedules {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    time_zone: String,
    quota: usize,
    minimum: Duration,
    in_scheduled_runs: bool,
}

/// The error of an unknown time zone. IANA's have names such as `Europe/Berlin` and `UTC`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownTimeZoneError(String);

impl Schedules {
    /// Returns the tools over a store, by the clock of the system and in UTC.
    #[must_use]
    pub fn new(store: impl Store + 'static) -> Self {
        Self {
            store: Arc::new(store),
            clock: Arc::new(SystemClock),
            time_zone: "UTC".to_owned(),
            quota: 100,
            minimum: Duration::from_secs(60),
            in_scheduled_runs: false,
        }
    }

    /// Replaces the clock. Default: that of the system.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the time zone of schedules for which the model names none. Default `UTC`.
    ///
    /// # Errors
    ///
    /// [`UnknownTimeZoneError`] if there is none of that name. The names come with the crate, not
    /// from the system.
    pub fn time_zone(mut self, name: &str) -> Result<Self, UnknownTimeZoneError> {
        let zone = repeat::time_zone(name).map_err(UnknownTimeZoneError)?;
        zone.iana_name().unwrap_or(name).clone_into(&mut self.time_zone);
        Ok(self)
    }

    /// Limits the number of schedules of a principal. Default 100.
    #[must_use]
    pub fn quota(mut self, schedules: usize) -> Self {
        self.quota = schedules;
        self
    }

    /// Sets the least time between two times of a schedule. Default 60 seconds.
    ///
    /// A schedule whose first hundred times are closer is refused; where later ones are, they are
    /// left out.
    #[must_use]
    pub fn minimum_interval(mut self, interval: Duration) -> Self {
        self.minimum = interval;
        self
    }

    /// Lets calls that are made because a schedule came due create schedules. Default: they may
    /// not.
    #[must_use]
    pub fn allow_in_scheduled_runs(mut self) -> Self {
        self.in_scheduled_runs = true;
        self
    }

    /// Checks that a schedule has a next time from now on, and sets it.
    async fn plan(&self, schedule: &mut Schedule) -> Result<(), ToolError> {
        let now = Timestamp::try_from(self.clock.now()).map_err(ToolError::infrastructure)?;
        let rule =
            RepeatRule::new(&schedule.repeat, &schedule.time_zone, schedule.minimum_interval)?;
        // Only a search over many years shows that a cron expression never matches.
        let searched = tokio::task::spawn_blocking(move || {
            let next = rule.next(now)?;
            Some((next, rule.is_too_frequent(now)))
        });
        schedule.next = match searched.await.map_err(ToolError::infrastructure)? {
            Some((_, true)) => return Err(repeat::too_frequent(schedule.minimum_interval).into()),
            Some((next, false)) => Some(next.into()),
            None if matches!(schedule.repeat, Repeat::Once { .. }) => {
                let now = display_time(now.into(), &schedule.time_zone);
                return Err(format!("`at` is past; it is {now} now").into());
            }
            None => return Err("that time never comes; check the day and the month".into()),
        };
        Ok(())
    }

    async fn of(&self, owner: &Principal, id: u64) -> Result<Schedule, ToolError> {
        let found = self.store.list(owner).await?.into_iter().find(|schedule| schedule.id == id);
        if let Some(found) = found {
            return Ok(found);
        }
        let broken = self.store.unreadable(owner).await?;
        Err(broken
            .iter()
            .find(|broken| broken.id == id)
            .map_or_else(|| missing(&[id]), |broken| describe_unreadable(broken).into()))
    }
}

#[toolset]
impl Schedules {
    /// Plans something for later: when the time comes, you are told the prompt, and act on it.
    #[tool(open_world = false, tags("schedule"))]
    async fn schedule_create(
        &self,
        /// What is to be done then, as an instruction that makes sense on its own
        #[arg(length = 1..=4000)]
        prompt: &str,
        /// When it is to be done
        when: Repeat,
        /// IANA name of the time zone, such as `Europe/Berlin`; leave it out for that of the user
        time_zone: Option<&str>,
        owner: Principal,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        if prompt.trim().is_empty() {
            return Err("`prompt` is empty".into());
        }
        if context.get::<ScheduledRun>().is_some() && !self.in_scheduled_runs {
            return Err("what a schedule has started may not create schedules".into());
        }
        let zone = time_zone.unwrap_or(&self.time_zone);
        let mut schedule = Schedule::new(owner, prompt, when, named(zone)?);
        schedule.conversation = context.get().cloned();
        schedule.denied = denied(context);
        schedule.tainted = context.is_tainted();
        schedule.minimum_interval = self.minimum;
        self.plan(&mut schedule).await?;
        schedule.id = self.store.create(schedule.clone(), self.quota).await?;
        Ok(format!("created schedule {}", describe(&schedule)))
    }

    /// Shows what is planned, with the number of each schedule and when it happens next.
    #[tool(read_only, idempotent, open_world = false, tags("schedule"))]
    async fn schedule_list(
        &self,
        owner: Principal,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        let schedules = self.store.list(&owner).await?;
        let broken = self.store.unreadable(&owner).await?;
        read(context, &schedules);
        if schedules.is_empty() && broken.is_empty() {
            return Ok("nothing is planned".to_owned());
        }
        let lines: Vec<_> =
            schedules.iter().map(describe).chain(broken.iter().map(describe_unreadable)).collect();
        Ok(lines.join("\n"))
    }

    /// Changes a schedule, or switches it off and on. What you leave out stays as it is.
    #[tool(idempotent, open_world = false, tags("schedule"))]
    async fn schedule_update(
        &self,
        /// Number of the schedule
        id: u64,
        /// What is to be done instead
        #[arg(length = 1..=4000)]
        prompt: Option<&str>,
        /// When it is to be done instead
        when: Option<Repeat>,
        /// IANA name of another time zone
        time_zone: Option<&str>,
        /// Whether it happens at all
        enabled: Option<bool>,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        if prompt.is_some_and(|prompt| prompt.trim().is_empty()) {
            return Err("`prompt` is empty".into());
        }
        let mut schedule = self.of(&Principal::of(context), id).await?;
        read(context, [&schedule]);
        let has_happened = matches!(schedule.repeat, Repeat::Once { .. })
            && schedule.fired.is_some()
            && !schedule.enabled;
        if has_happened && when.is_none() && (enabled == Some(true) || time_zone.is_some()) {
            return Err(format!(
                "schedule {id} has happened, and does so once; give it a new time with `when`"
            )
            .into());
        }
        // A tool that is forbidden to the one who changes a schedule is forbidden to the schedule,
        // too.
        for name in denied(context) {
            if !schedule.denied.contains(&name) {
                schedule.denied.push(name);
            }
        }
        schedule.tainted |= context.is_tainted();
        let replanned = when.is_some() || time_zone.is_some() || enabled == Some(true);
        if let Some(prompt) = prompt {
            prompt.clone_into(&mut schedule.prompt);
        }
        if let Some(zone) = time_zone {
            schedule.time_zone = named(zone)?;
        }
        schedule.enabled = enabled.unwrap_or(schedule.enabled || has_happened && when.is_some());
        if let Some(when) = when {
            schedule.repeat = when;
        }
        if replanned {
            schedule.minimum_interval = self.minimum;
            self.plan(&mut schedule).await?;
        }
        if !schedule.enabled {
            schedule.next = None;
        }
        if !self.store.replace(schedule.clone()).await? {
            return Err(format!("schedule {id} was changed meanwhile; look at it again").into());
        }
        Ok(format!("changed schedule {}", describe(&schedule)))
    }

    #[doc = " Deletes a schedule, by its number or by words of its prompt. Several are deleted \
        only with `all`."]
    #[tool(destructive, idempotent, open_world = false, tags("schedule"))]
    async fn schedule_delete(
        &self,
        /// Numbers of schedules
        #[arg(default)]
        ids: Vec<u64>,
        /// Text that the prompt holds, instead of numbers; case does not count
        query: Option<&str>,
        /// Delete all that fit, where several do
        #[arg(default)]
        all: bool,
        owner: Principal,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        let query = query.map(|query| query.trim().to_lowercase());
        let schedules = self.store.list(&owner).await?;
        let mut broken = Vec::new();
        let chosen: Vec<&Schedule> = match query {
            Some(query) if query.is_empty() => {
                return Err("`query` is empty; name the schedule by a part of its prompt".into());
            }
            Some(_) if !ids.is_empty() => {
                return Err("give `ids` or `query`, and not both".into());
            }
            Some(query) => {
                schedules.iter().filter(|own| own.prompt.to_lowercase().contains(&query)).collect()
            }
            None if ids.is_empty() => {
                return Err("say which: `ids` by number, or `query` by a part of the prompt".into());
            }
            None => {
                broken = self.store.unreadable(&owner).await?;
                broken.retain(|own| ids.contains(&own.id));
                let known = |id: &&u64| {
                    schedules
                        .iter()
                        .map(|own| own.id)
                        .chain(broken.iter().map(|own| own.id))
                        .any(|own| own == **id)
                };
                let unknown: Vec<u64> = ids.iter().filter(|id| !known(id)).copied().collect();
                if !unknown.is_empty() {
                    return Err(missing(&unknown));
                }
                schedules.iter().filter(|own| ids.contains(&own.id)).collect()
            }
        };
        if chosen.is_empty() && broken.is_empty() {
            return Err("no prompt holds `query`; `schedule_list` shows what there is".into());
        }
        read(context, chosen.iter().copied());
        let lines = chosen.iter().map(|schedule| describe(schedule));
        let lines: Vec<_> = lines.chain(broken.iter().map(describe_unreadable)).collect();
        let (lines, count) = (lines.join("\n"), lines.len());
        if count > 1 && !all {
            return Err(format!(
                "that fits {count} schedules, and none was deleted; name one, or set `all`:\n{lines}"
            )
            .into());
        }
        let ids = chosen.iter().map(|own| own.id).chain(broken.iter().map(|own| own.id)).collect();
        let deleted = self.store.delete(&owner, ids).await?;
        let what = if deleted == 1 { "schedule" } else { "schedules" };
        Ok(format!("deleted {deleted} {what}:\n{lines}"))
    }
}

/// Records that a model reads the prompts of schedules, which a tainted model may have written.
fn read<'a>(context: &ToolContext, schedules: impl IntoIterator<Item = &'a Schedule>) {
    if schedules.into_iter().any(|schedule| schedule.tainted)
        && let Some(taint) = context.get::<Taint>()
    {
        taint.mark();
    }
}

/// Returns a time zone's name in its usual spelling.
fn named(zone: &str) -> Result<String, ToolError> {
    let found = repeat::time_zone(zone)?;
    Ok(found.iana_name().unwrap_or(zone).to_owned())
}

fn missing(ids: &[u64]) -> ToolError {
    let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
    format!("no schedule has the number {}; `schedule_list` shows what there is", ids.join(", "))
        .into()
}

/// Describes a schedule in one line.
fn describe(schedule: &Schedule) -> String {
    let zone = &schedule.time_zone;
    let state = match schedule.next {
        Some(next) => format!("next {}", display_time(next, zone)),
        None if schedule.fired.is_some() && matches!(schedule.repeat, Repeat::Once { .. }) => {
            "has happened".to_owned()
        }
        None => "switched off".to_owned(),
    };
    format!("{}: {:?}, {} ({zone}); {state}", schedule.id, schedule.prompt, schedule.repeat)
}

/// Describes a schedule that cannot be read in one line, without its content.
fn describe_unreadable(broken: &UnreadableSchedule) -> String {
    format!(
        "{}: its `{}` cannot be read, so it does not happen; delete it by its number",
        broken.id,
        quote(&broken.column, QUOTED)
    )
}

/// Returns a time on the clocks of a zone, with their offset.
fn display_time(at: SystemTime, zone: &str) -> String {
    let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
    Timestamp::try_from(at)
        .map(|at| at.to_zoned(zone).strftime("%Y-%m-%dT%H:%M%:z (%A)").to_string())
        .unwrap_or_default()
}

impl fmt::Debug for Schedules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedules")
            .field("time_zone", &self.time_zone)
            .field("quota", &self.quota)
            .field("minimum", &self.minimum)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for UnknownTimeZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnknownTimeZoneError {}

/// Returns the names that may not be called from `context`, as they were given.
fn denied(context: &ToolContext) -> Vec<String> {
    context.rules().map(|rules| rules.blacklisted()).unwrap_or_default()
}
