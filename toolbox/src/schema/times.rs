//! Times as models write them: `PT1H30M`, `90s`, `1h 30m`, a number of seconds, and points in time
//! such as `2026-01-31T12:00:00Z`.
//!
//! serde reads a `Duration` and a `SystemTime` as a struct of two numbers, which no model would
//! write. The schema shows text, and the reader gives the struct its two numbers.

use std::fmt::Write as _;

use serde_json::Value;

use super::format::Format;
use super::walk::{self, Object};

/// Seconds and nanoseconds: a span, or the time since 1970.
pub(crate) type Time = (u64, u32);

/// The types of the standard library, by the fields that serde reads them by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeType {
    Duration,
    SystemTime,
}

impl TimeType {
    pub(crate) const ALL: [Self; 2] = [Self::Duration, Self::SystemTime];

    pub(crate) fn fields(self) -> [&'static str; 2] {
        match self {
            Self::Duration => ["secs", "nanos"],
            Self::SystemTime => ["secs_since_epoch", "nanos_since_epoch"],
        }
    }

    pub(crate) fn of(fields: &[&str]) -> Option<Self> {
        Self::ALL.into_iter().find(|time| time.fields() == fields)
    }

    /// The keyword `format` of its text.
    pub(crate) fn format(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::SystemTime => "date-time",
        }
    }

    /// What a text of it is, for messages.
    pub(crate) fn phrase(self) -> String {
        Format::named(self.format()).map_or_else(String::new, Format::told)
    }

    pub(crate) fn read(self, text: &str) -> Option<Time> {
        let text = text.trim();
        match self {
            Self::Duration => duration(text),
            Self::SystemTime => date_time(text),
        }
        .or_else(|| seconds(text))
    }

    /// Writes a time as the schema shows it.
    pub(crate) fn write(self, (seconds, nanos): Time) -> String {
        let fraction = || match nanos {
            0 => String::new(),
            nanos => format!(".{nanos:09}").trim_end_matches('0').to_owned(),
        };
        match self {
            Self::Duration => {
                let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
                let mut text = String::from("PT");
                if hours > 0 {
                    let _ = write!(text, "{hours}H");
                }
                if minutes > 0 {
                    let _ = write!(text, "{minutes}M");
                }
                if rest > 0 || nanos > 0 || seconds == 0 {
                    let _ = write!(text, "{rest}{}S", fraction());
                }
                text
            }
            Self::SystemTime => {
                let (year, month, day) = civil(seconds / DAY);
                let of_day = seconds % DAY;
                let (hours, minutes, rest) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
                format!(
                    "{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{rest:02}{}Z",
                    fraction()
                )
            }
        }
    }
}

/// Shows times as text in a schema as schemars writes it, with their definitions beside it; returns
/// `true` if it has any.
pub(crate) fn show_as_text(schema: &mut Value) -> bool {
    let mut has_times = false;
    walk::each_mut(schema, &mut |map| {
        let Some(time) = shown(map) else { return };
        has_times = true;
        map.retain(|keyword, _| !matches!(keyword.as_str(), "properties" | "required"));
        map.insert("type".to_owned(), "string".into());
        map.insert("format".to_owned(), time.format().into());
    });
    if has_times {
        walk::each_mut(schema, &mut |map| {
            for keyword in ["default", "examples"] {
                if let Some(value) = map.get_mut(keyword) {
                    write_as_text(value);
                }
            }
        });
    }
    has_times
}

/// Returns the time that a schema is of: an object of its two numbers, and nothing else.
fn shown(map: &Object) -> Option<TimeType> {
    let properties = map.get("properties")?.as_object()?;
    let has_only = |names: &[&str]| map.keys().all(|keyword| names.contains(&keyword.as_str()));
    let format = |name: &str| properties.get(name)?.get("format")?.as_str();
    let time = TimeType::ALL.into_iter().find(|time| {
        let [seconds, nanos] = time.fields();
        format(seconds) == Some("uint64") && format(nanos) == Some("uint32")
    })?;
    let is_bare = has_only(&[
        "type",
        "title",
        "description",
        "properties",
        "required",
        "default",
        "examples",
    ]);
    let is_required = walk::items(map, "required").len() == 2;
    (properties.len() == 2 && is_bare && is_required).then_some(time)
}

/// Writes each time in a value as text, as serde writes them: an object of two numbers.
pub(crate) fn write_as_text(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(write_as_text),
        Value::Object(map) => {
            let number = |name: &str| map.get(name).and_then(Value::as_u64);
            let text = TimeType::ALL.into_iter().find_map(|time| {
                let [seconds, nanos] = time.fields();
                let nanos =
                    u32::try_from(number(nanos)?).ok().filter(|nanos| *nanos < 1_000_000_000)?;
                (map.len() == 2).then_some(time.write((number(seconds)?, nanos)))
            });
            match text {
                Some(text) => *value = text.into(),
                None => map.values_mut().for_each(write_as_text),
            }
        }
        _ => {}
    }
}

const DAY: u64 = 86_400;
const NANOS: u128 = 1_000_000_000;

/// Reads a number of seconds: `90`, `1.5`.
fn seconds(text: &str) -> Option<Time> {
    time_of(scaled(text, NANOS)?)
}

fn time_of(nanos: u128) -> Option<Time> {
    Some((u64::try_from(nanos / NANOS).ok()?, u32::try_from(nanos % NANOS).ok()?))
}

/// Returns a decimal number without a sign, times a scale; nothing if it has digits below one.
fn scaled(number: &str, scale: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !are_digits(whole) || !are_digits(fraction) || number.ends_with('.') {
        return None;
    }
    let mut total = whole.parse::<u128>().ok()?.checked_mul(scale)?;
    let mut unit = scale;
    for digit in fraction.trim_end_matches('0').bytes() {
        if !unit.is_multiple_of(10) {
            return None;
        }
        unit /= 10;
        total = total.checked_add(u128::from(digit - b'0') * unit)?;
    }
    Some(total)
}

/// Reads a duration in the form of ISO 8601, or one of numbers with units. Months and years have no
/// length of their own, and are refused.
fn duration(text: &str) -> Option<Time> {
    let upper = text.to_ascii_uppercase();
    let Some(iso) = upper.strip_prefix('P') else { return spelled(text) };
    let (days, times) = iso.split_once('T').unwrap_or((iso, ""));
    if iso.ends_with('T') {
        return None;
    }
    let of_days = |unit: &str| match unit {
        "W" => Some(7 * DAY),
        "D" => Some(DAY),
        _ => None,
    };
    let of_times = |unit: &str| match unit {
        "H" => Some(3600),
        "M" => Some(60),
        "S" => Some(1),
        _ => None,
    };
    let seconds = |unit: Option<u64>| unit.map(|seconds| u128::from(seconds) * NANOS);
    let parts =
        [sum(days, |unit| seconds(of_days(unit)))?, sum(times, |unit| seconds(of_times(unit)))?];
    let [(days, first), (times, second)] = parts;
    if first + second == 0 {
        return None;
    }
    time_of(days.checked_add(times)?)
}

fn spelled(text: &str) -> Option<Time> {
    let unit = |unit: &str| {
        let seconds: u128 = match unit.to_ascii_lowercase().as_str() {
            "ns" => return Some(1),
            "us" | "µs" => return Some(1_000),
            "ms" | "msec" | "millis" | "millisecond" | "milliseconds" => return Some(1_000_000),
            "s" | "sec" | "secs" | "second" | "seconds" => 1,
            "m" | "min" | "mins" | "minute" | "minutes" => 60,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600,
            "d" | "day" | "days" => DAY.into(),
            "w" | "week" | "weeks" => (7 * DAY).into(),
            _ => return None,
        };
        Some(seconds * NANOS)
    };
    let (total, parts) = sum(text, unit)?;
    (parts > 0).then(|| time_of(total))?
}

/// Adds numbers that each have a unit behind them; returns how many there are too.
fn sum(mut text: &str, unit: impl Fn(&str) -> Option<u128>) -> Option<(u128, usize)> {
    let (mut total, mut parts) = (0_u128, 0);
    loop {
        text = text.trim_start_matches([' ', ',']);
        if text.is_empty() {
            return Some((total, parts));
        }
        let (number, rest) = text.split_at(text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?);
        let rest = rest.trim_start();
        let end =
            rest.find(|c: char| c.is_ascii_digit() || matches!(c, ' ' | ',')).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        total = total.checked_add(scaled(number, unit(name)?)?)?;
        (text, parts) = (rest, parts + 1);
    }
}

/// Reads a point in time since 1970 in the form of RFC 3339, whose offset says what it means.
fn date_time(text: &str) -> Option<Time> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let [year, month, day] = parts(date, '-', [4, 2, 2])?;
    if !(1..=12).contains(&month) || day == 0 || day > days_of(year, month) {
        return None;
    }
    let at = time.find(['Z', 'z', '+', '-'])?;
    let (time, offset) = time.split_at(at);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let [hours, minutes, seconds] = parts(time, ':', [2, 2, 2])?;
    // A leap second is the last second of its minute.
    if hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let nanos = if fraction.is_empty() { 0 } else { scaled(&format!("0.{fraction}"), NANOS)? };
    let offset = match offset {
        "Z" | "z" => 0,
        offset => {
            let (sign, offset) = offset.split_at(1);
            let [hours, minutes] = parts(offset, ':', [2, 2])?;
            if hours > 23 || minutes > 59 {
                return None;
            }
            let offset = i64::from(hours * 3600 + minutes * 60);
            if sign == "-" { -offset } else { offset }
        }
    };
    let days = days_since(year, month, day);
    let of_day = i64::from(hours * 3600 + minutes * 60 + seconds.min(59));
    let seconds = days * i64::try_from(DAY).ok()? + of_day - offset;
    Some((u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?))
}

/// Returns numbers of so many digits each.
fn parts<const N: usize>(text: &str, between: char, widths: [usize; N]) -> Option<[u32; N]> {
    let mut found = [0; N];
    let mut all = text.split(between);
    for (number, width) in found.iter_mut().zip(widths) {
        let digits = all.next()?;
        if digits.len() != width || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = digits.parse().ok()?;
    }
    all.next().is_none().then_some(found)
}

fn days_of(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the days from the first of 1970 to a day.
fn days_since(year: u32, month: u32, day: u32) -> i64 {
    // Years begin in March, so that the leap day is the last.
    let (year, month) =
        if month > 2 { (year, month - 3) } else { (year.wrapping_sub(1), month + 9) };
    let year = i64::from(year.cast_signed());
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    days + i64::from((153 * month + 2) / 5 + day) - 719_469
}

/// Returns the year, the month and the day that so many days since 1970 are.
pub(crate) fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}
