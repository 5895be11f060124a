//! Exact values of numbers.

/// Returns the exact value of a number written with a point or an exponent, when it is whole
/// (`3.0`, `1e3`).
///
/// JSON Schema calls such a number an integer, so the reader does too.
pub(super) fn whole_number(text: &str) -> Option<i128> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    let shift = exponent - i32::try_from(fraction.len()).ok()?;
    let value: i128 = digits.parse().ok()?;
    if value == 0 {
        return Some(0);
    }
    let power = 10_i128.checked_pow(shift.unsigned_abs())?;
    if shift >= 0 { value.checked_mul(power) } else { (value % power == 0).then(|| value / power) }
}

/// Returns `true` if `value` is exactly the integer written in `text`; `None` if that is unknown.
#[allow(
    clippy::cast_possible_truncation,
    reason = "only whole numbers within the range of i128 are compared"
)]
pub(super) fn exact(text: &str, value: f64) -> Option<bool> {
    let integer: i128 = text.parse().ok()?;
    Some(value.abs() < 1e38 && value as i128 == integer)
}
