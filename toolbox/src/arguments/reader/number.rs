//! Numbers that are not short integers, and their exact values.

use std::borrow::Cow;

use serde::de::{self, Visitor};

use super::{ArgumentReader, Read};
use crate::validate::ReadError;

impl<'call> ArgumentReader<'call> {
    /// Reads the text of a number; the flag is `true` if it is written as an integer.
    pub(super) fn number(&mut self) -> Read<(&'call str, bool)> {
        let start = self.position;
        let bytes = self.bytes();
        let digits = |mut at: usize| {
            while matches!(bytes.get(at), Some(b'0'..=b'9')) {
                at += 1;
            }
            at
        };
        let first = start + usize::from(self.peek() == Some(b'-'));
        let mut end = digits(first);
        let whole = end - first;
        if whole == 0 || (whole > 1 && bytes[first] == b'0') {
            return self.fail("expected a number");
        }
        let mut integer = true;
        if bytes.get(end) == Some(&b'.') {
            integer = false;
            let fraction = digits(end + 1);
            if fraction == end + 1 {
                return self.fail("a number needs digits after the point");
            }
            end = fraction;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            integer = false;
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent == end + 1 + sign {
                return self.fail("a number needs digits in its exponent");
            }
            end = exponent;
        }
        self.position = end;
        Ok((&self.text[start..end], integer))
    }

    #[cold]
    pub(super) fn careful_integer<V: Visitor<'call>>(&mut self, visitor: V) -> Read<V::Value> {
        let start = self.position;
        if !matches!(self.peek(), Some(b'-' | b'0'..=b'9')) {
            return self.mismatch(&visitor);
        }
        let (text, plain) = self.number()?;
        let value = if plain { text.parse().ok() } else { whole_number(text) };
        let Some(value) = value else {
            let expected: &dyn de::Expected = &visitor;
            let error = ReadError::new(format!("the number {text} is no integer in range"), start);
            return Err(error.expecting(expected));
        };
        if let Ok(value) = u64::try_from(value) {
            visitor.visit_u64(value)
        } else if let Ok(value) = i64::try_from(value) {
            visitor.visit_i64(value)
        } else {
            visitor.visit_i128(value)
        }
        .map_err(|error: ReadError| error.at(start))
    }

    pub(super) fn float(&mut self) -> Read<f64> {
        let start = self.position;
        let (text, integer) = self.number()?;
        let value: f64 = text.parse().unwrap_or(f64::INFINITY);
        if !value.is_finite() {
            return Err(ReadError::new(format!("the number {text} is out of range"), start));
        }
        // An integer with more digits than a double holds would be rounded to another.
        if integer && text.len() > 15 && exact(text, value) != Some(true) {
            return Err(ReadError::new(format!("the number {text} would be rounded"), start));
        }
        Ok(value)
    }
}

/// Returns the exact value of a number written with a point or an exponent, when it is whole
/// (`3.0`, `1e3`).
///
/// JSON Schema calls such a number an integer, so the reader does too.
fn whole_number(text: &str) -> Option<i128> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = match fraction {
        "" => Cow::Borrowed(whole),
        _ => Cow::Owned(format!("{whole}{fraction}")),
    };
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
fn exact(text: &str, value: f64) -> Option<bool> {
    let integer: i128 = text.parse().ok()?;
    Some(value.abs() < 1e38 && value as i128 == integer)
}
