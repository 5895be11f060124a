//! The rules of schedules, and their times in a time zone.

use std::fmt;
use std::str::FromStr as _;
use std::time::Duration;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::{QUOTED, quote};

/// When something happens, on the clocks of a time zone.
///
/// Where the clocks go forward over a time, it happens later by as much as they skip (02:30 becomes
/// 03:30); where they go back over it, it happens at the first of both.
///
/// ```
/// use toolbox::builtin::schedule::{Day, Repeat};
///
/// let meeting = Repeat::Weekly { day: Day::Tuesday, time: "09:30".to_owned() };
/// let json = serde_json::to_string(&meeting).unwrap();
/// assert_eq!(json, r#"{"repeat":"weekly","day":"tuesday","time":"09:30"}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "repeat", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Repeat {
    /// One time only
    Once {
        /// Date and time such as `2026-03-01T09:00`
        at: String,
    },
    /// Every day
    Daily {
        /// Time of day such as `09:00`
        time: String,
    },
    /// Every week on one day
    Weekly {
        /// Day of the week
        day: Day,
        /// Time of day such as `09:00`
        time: String,
    },
    /// Every month on one day
    Monthly {
        /// Day of the month; in a shorter month its last day
        #[schemars(range(min = 1, max = 31))]
        day: u8,
        /// Time of day such as `09:00`
        time: String,
    },
    /// On some days of each week
    Days {
        /// Days of the week
        days: Vec<Day>,
        /// Time of day such as `09:00`
        time: String,
    },
    /// By a cron expression
    Cron {
        /// Five fields: minute, hour, day of month, month, day of week
        expression: String,
    },
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "they are known")]
pub enum Day {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

/// A validated rule.
pub(super) struct RepeatRule {
    zone: TimeZone,
    plan: RulePlan,
    minimum: Duration,
}

enum RulePlan {
    Once(Timestamp),
    /// On the matching days, at a time.
    Days(DayFilter, Time),
    Cron(Box<Cron>),
}

enum DayFilter {
    /// Of the week, counted from Monday.
    Week([bool; 7]),
    /// Of the month.
    Month(i8),
}

impl fmt::Display for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once { at } => write!(f, "once at {at}"),
            Self::Daily { time } => write!(f, "daily at {time}"),
            Self::Weekly { day, time } => write!(f, "weekly on {day} at {time}"),
            Self::Monthly { day, time } => write!(f, "monthly on day {day} at {time}"),
            Self::Days { days, time } => {
                let days: Vec<_> = days.iter().map(ToString::to_string).collect();
                write!(f, "on {} at {time}", days.join(", "))
            }
            Self::Cron { expression } => write!(f, "cron {expression:?}"),
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{self:?}").to_lowercase();
        f.write_str(&name)
    }
}

impl RepeatRule {
    /// Reads a rule, or returns how to write it. A valid rule may still have no next time.
    pub(super) fn new(repeat: &Repeat, zone: &str, minimum: Duration) -> Result<Self, String> {
        let zone = time_zone(zone)?;
        let week = |days: &[Day]| {
            let mut week = [false; 7];
            for day in days {
                week[*day as usize] = true;
            }
            DayFilter::Week(week)
        };
        let plan = match repeat {
            Repeat::Once { at } => RulePlan::Once(moment(at, &zone)?),
            Repeat::Daily { time } => {
                RulePlan::Days(DayFilter::Week([true; 7]), time_of_day(time)?)
            }
            Repeat::Weekly { day, time } => RulePlan::Days(week(&[*day]), time_of_day(time)?),
            Repeat::Days { days, .. } if days.is_empty() => {
                return Err("`days` is empty; name at least one day of the week".to_owned());
            }
            Repeat::Days { days, time } => RulePlan::Days(week(days), time_of_day(time)?),
            Repeat::Monthly { day, time } => {
                let day = i8::try_from(*day).ok().filter(|day| (1..=31).contains(day));
                let day = day.ok_or("`day` must be from 1 to 31")?;
                RulePlan::Days(DayFilter::Month(day), time_of_day(time)?)
            }
            Repeat::Cron { expression } => RulePlan::Cron(Box::new(cron(expression, minimum)?)),
        };
        Ok(Self { zone, plan, minimum })
    }

    /// Returns the first time after `after`, or `None` if there is none up to the year 5000.
    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match &self.plan {
            RulePlan::Once(at) => Some(*at).filter(|at| *at > after),
            RulePlan::Days(fit, time) => {
                // The day before, for a time that the clocks moved over midnight; two months
                // contain the next time of any rule.
                let first = after.to_zoned(self.zone.clone()).date().checked_sub(1.day()).ok()?;
                first
                    .series(1.day())
                    .take(64)
                    .filter(|date| fit.fits(*date))
                    .filter_map(|date| {
                        self.zone.to_ambiguous_zoned(date.to_datetime(*time)).compatible().ok()
                    })
                    .map(|at| at.timestamp())
                    .find(|at| *at > after)
            }
            RulePlan::Cron(cron) => {
                let from = after.to_zoned(self.zone.clone());
                let found = cron.find_next_occurrence(&from, false).or_else(|_| {
                    // A zone that skipped a whole day stops the search there.
                    let later = from.checked_add(25.hours()).unwrap_or(from);
                    cron.find_next_occurrence(&later, false)
                });
                found.ok().map(|at| at.timestamp()).filter(|at| *at > after)
            }
        }
    }

    /// Returns the first time after `after` that is not too soon after an occurrence at `last`.
    pub(super) fn following(&self, last: Timestamp, after: Timestamp) -> Option<Timestamp> {
        let soonest = last.checked_add(self.minimum).ok()? - 1.nanosecond();
        self.next(after.max(soonest))
    }

    /// Returns `true` if two of the next hundred occurrences are closer than the minimum.
    pub(super) fn is_too_frequent(&self, after: Timestamp) -> bool {
        let mut last = None;
        let mut now = after;
        for _ in 0..100 {
            let Some(next) = self.next(now) else { return false };
            let gap = last.map(|last| Duration::try_from(next.duration_since(last)));
            if gap.is_some_and(|gap| gap.is_ok_and(|gap| gap < self.minimum)) {
                return true;
            }
            (last, now) = (Some(next), next);
        }
        false
    }
}

impl DayFilter {
    fn fits(&self, date: Date) -> bool {
        match self {
            Self::Week(days) => {
                let day = date.weekday().to_monday_zero_offset();
                usize::try_from(day).is_ok_and(|day| days[day])
            }
            Self::Month(day) => date.day() == (*day).min(date.days_in_month()),
        }
    }
}

/// Finds a time zone by its name.
pub(super) fn time_zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name).map_err(|_| {
        let name = quote(name, QUOTED);
        format!(
            "no time zone is called \"{name}\"; use an IANA name such as `Europe/Berlin` or `UTC`"
        )
    })
}

fn time_of_day(text: &str) -> Result<Time, String> {
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let time = text.split_once(':').filter(|(hour, minute)| digits(hour) && digits(minute));
    let time = time
        .and_then(|(hour, minute)| Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok());
    time.ok_or_else(|| {
        let text = quote(text, QUOTED);
        format!("`time` must be a time of day such as `09:00` or `17:30`, got \"{text}\"")
    })
}

/// Reads a moment: with an offset, or on the clocks of the zone.
fn moment(text: &str, zone: &TimeZone) -> Result<Timestamp, String> {
    let wrong = || {
        let text = quote(text, QUOTED);
        format!("`at` must be a date and a time such as `2026-03-01T09:00`, got \"{text}\"")
    };
    if !text.contains([':', 'T', 't', ' ']) {
        return Err(wrong());
    }
    if let Ok(at) = Timestamp::from_str(text) {
        return Ok(at);
    }
    let at = DateTime::from_str(text).map_err(|_| wrong())?;
    let at = zone.to_ambiguous_zoned(at).compatible().map_err(|_| wrong())?;
    Ok(at.timestamp())
}

fn cron(expression: &str, minimum: Duration) -> Result<Cron, String> {
    let fields = expression.split_whitespace().count();
    if expression.len() > 200 {
        return Err("`expression` is longer than 200 characters".to_owned());
    }
    if fields == 6 && minimum >= Duration::from_secs(60) && seconds_vary(expression) {
        return Err(too_frequent(minimum));
    }
    let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
    parser.parse(expression).map_err(|error| {
        let error = quote(&error.to_string(), 2 * QUOTED);
        format!(
            "`expression` is no cron expression: {error}; it has five fields: minute, hour, day of month, month, day of week"
        )
    })
}

/// Returns `true` if an expression with seconds occurs twice within a minute.
fn seconds_vary(expression: &str) -> bool {
    let seconds = expression.split_whitespace().next().unwrap_or_default();
    !seconds.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn too_frequent(minimum: Duration) -> String {
    format!("that is too often: at least {} seconds must lie between two times", minimum.as_secs())
}
