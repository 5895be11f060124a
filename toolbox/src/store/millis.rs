//! Times in the form of the file.

#[cfg(any(feature = "durable", feature = "knowledge", feature = "schedule"))]
use std::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns a time in the form of the file: milliseconds since 1970, UTC.
pub(crate) fn to_millis(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    }
}

/// Returns the time of `millis`; one that the clock cannot represent counts as 1970.
#[cfg(any(feature = "durable", feature = "knowledge", feature = "schedule"))]
pub(crate) fn from_millis(millis: i64) -> SystemTime {
    let distance = Duration::from_millis(millis.unsigned_abs());
    let time = if millis < 0 {
        UNIX_EPOCH.checked_sub(distance)
    } else {
        UNIX_EPOCH.checked_add(distance)
    };
    time.unwrap_or(UNIX_EPOCH)
}
