//! Exact values of numbers.

/// The least number of 18 digits.
const LONG: u64 = 10_u64.pow(17);

/// Returns the integer without a sign that begins at `start`, and the position behind it, if it has
/// up to 18 digits and another character behind them; else it takes a closer look.
#[allow(clippy::inline_always, reason = "each integer of a call is read by it")]
#[inline(always)]
pub(super) fn short_integer(bytes: &[u8], start: usize) -> Option<(u64, usize)> {
    let mut at = start;
    let mut value = u64::from(digit(*bytes.get(at)?)?);
    loop {
        at += 1;
        let byte = *bytes.get(at)?;
        let Some(digit) = digit(byte) else {
            let is_integer = !matches!(byte, b'.' | b'e' | b'E');
            return is_integer.then_some((value, at));
        };
        // No digit may follow a zero alone.
        if !(1..LONG).contains(&value) {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
}

#[inline]
fn digit(byte: u8) -> Option<u8> {
    let digit = byte.wrapping_sub(b'0');
    (digit <= 9).then_some(digit)
}

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
