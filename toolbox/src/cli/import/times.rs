//! Times of other programs, in milliseconds.

use std::ops::RangeInclusive;

use serde_json::Value;

/// The longest time of the configuration.
const LONGEST: f64 = 24.0 * 3600.0 * 1000.0;

/// The times that are common: from a second to four hours.
const COMMON: RangeInclusive<f64> = 1000.0..=4.0 * 3600.0 * 1000.0;

/// The reading of a number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// In the unit of its program.
    Plain(u64),
    /// In the other unit, since the one of the program gives a time that nobody means.
    Questioned(u64, String),
    /// It is no time, or it may be one in both units.
    None(String),
}

/// Reads a time; `unit` is that of the program in milliseconds, 1 or 1000, if it has one.
pub(super) fn read(value: &Value, unit: Option<f64>) -> Reading {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    };
    let Some(number) = number.filter(|number: &f64| number.is_finite() && *number > 0.0) else {
        return Reading::None("it is no time".to_owned());
    };
    let both = || format!("{} or {}", shown(number), shown(number * 1000.0));
    let Some(unit) = unit else {
        return Reading::None(format!("the program names no unit: it is {}", both()));
    };
    let (time, other) = (number * unit, number * if unit < 1000.0 { 1000.0 } else { 1.0 });
    if COMMON.contains(&time) {
        return Reading::Plain(whole(time));
    }
    if COMMON.contains(&other) {
        let note = format!(
            "is {} in the unit of the program, which is hardly meant: {} is taken",
            shown(time),
            shown(other)
        );
        return Reading::Questioned(whole(other), note);
    }
    if (1.0..=LONGEST).contains(&time) {
        return Reading::Plain(whole(time));
    }
    Reading::None(format!("no time of at most 24 hours: {}", both()))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
fn whole(milliseconds: f64) -> u64 {
    milliseconds as u64
}

/// Formats a time in its largest fitting unit.
fn shown(milliseconds: f64) -> String {
    let units = [(3_600_000.0, "h"), (60_000.0, "min"), (1000.0, "s")];
    let fitting = units.iter().find(|(unit, _)| milliseconds >= *unit);
    let (unit, name) = fitting.copied().unwrap_or((1.0, "ms"));
    let number = (milliseconds / unit * 10.0).round() / 10.0;
    format!("{number} {name}")
}
