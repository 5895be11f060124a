//! Numbers compared exactly as they are written, never rounded to a float first.

use std::cmp::Ordering;

use serde_json::Number;

use crate::text::string_end;

/// A decimal number of any size: `±digits × 10^exponent`, with no zeros at either end of the
/// digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Decimal {
    negative: bool,
    /// Empty for zero.
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Reads the text of a JSON number.
    pub(crate) fn new(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let huge = if exponent.starts_with('-') { i64::MIN / 4 } else { i64::MAX / 4 };
        let mut exponent =
            exponent.parse::<i64>().unwrap_or(huge).clamp(i64::MIN / 4, i64::MAX / 4);
        let (negative, mantissa) =
            mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        exponent -= length(fraction.len());
        let mut digits: Vec<u8> =
            whole.bytes().chain(fraction.bytes()).skip_while(|&digit| digit == b'0').collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
            exponent += 1;
        }
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: 0 };
        }
        Self { negative, digits, exponent }
    }

    /// Returns `true` if the number is whole: `3.0` and `1e3` are.
    pub(crate) fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Returns `true` if the number is a multiple of `step`: exact where the division fits 127
    /// bits.
    pub(super) fn is_multiple_of(&self, step: &Self) -> bool {
        self.is_exact_multiple_of(step).unwrap_or_else(|| {
            let quotient = self.to_float() / step.to_float();
            quotient.is_finite() && quotient.fract() == 0.0
        })
    }

    /// Returns `true` if the number is a multiple of `step`; `None` if the division does not fit
    /// 127 bits.
    pub(crate) fn is_exact_multiple_of(&self, step: &Self) -> Option<bool> {
        if self.digits.is_empty() || step.digits.is_empty() {
            return Some(self.digits.is_empty());
        }
        let low = self.exponent.min(step.exponent);
        Some(self.scaled(low)? % step.scaled(low)? == 0)
    }

    /// Returns the magnitude in units of `10^exponent`.
    fn scaled(&self, exponent: i64) -> Option<i128> {
        let power = u32::try_from(self.exponent.checked_sub(exponent)?).ok()?;
        let digits = std::str::from_utf8(&self.digits).ok()?.parse::<i128>().ok()?;
        digits.checked_mul(10_i128.checked_pow(power)?)
    }

    fn to_float(&self) -> f64 {
        let digits = std::str::from_utf8(&self.digits).unwrap_or("0");
        format!("{digits}e{}", self.exponent).parse().unwrap_or(f64::INFINITY)
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        // Zero has no leading digit to compare.
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        let place = |number: &Self| number.exponent + length(number.digits.len());
        place(self).cmp(&place(other)).then_with(|| self.digits.cmp(&other.digits))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares the text of a JSON number with a bound of a schema.
pub(super) fn compare(number: &str, bound: &Number) -> Ordering {
    match (number.parse::<i64>(), bound.as_i64()) {
        (Ok(number), Some(bound)) => number.cmp(&bound),
        _ => Decimal::new(number).cmp(&Decimal::new(&bound.to_string())),
    }
}

/// Returns `true` if the text of a JSON number is that of a whole one: `3`, `3.0` and `1e3` are.
pub(super) fn is_integer(text: &str) -> bool {
    let digits = text.bytes().take_while(|byte| matches!(byte, b'-' | b'0'..=b'9')).count();
    match text[digits..].strip_prefix('.') {
        _ if digits == text.len() => true,
        Some(fraction) if fraction.bytes().all(|digit| digit == b'0') => true,
        _ => Decimal::new(text).is_integer(),
    }
}

/// Returns JSON text with its whole numbers written as integers, `3.0` as `3` and `1e3` as `1000`,
/// if that changes it.
///
/// Only for text that parses. Numbers of more digits than 128 bits hold stay as they are.
pub(crate) fn with_plain_integers(text: &str) -> Option<String> {
    const LONGEST: i64 = 39;
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'-' | b'0'..=b'9' => {
                let is_part = |b: &u8| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let len = bytes[at..].iter().take_while(|b| is_part(b)).count();
                let number = &text[at..at + len];
                at += len;
                if !number.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
                    continue;
                }
                let value = Decimal::new(number);
                let digits = length(value.digits.len()) + value.exponent;
                if value.is_integer() && digits <= LONGEST {
                    out.push_str(&text[copied..at - len]);
                    out.push_str(if value.negative { "-" } else { "" });
                    out.extend(value.digits.iter().map(|&digit| char::from(digit)));
                    out.extend((0..value.exponent).map(|_| '0'));
                    out.push_str(if value.digits.is_empty() { "0" } else { "" });
                    copied = at;
                }
            }
            _ => at += 1,
        }
    }
    (copied > 0).then(|| out + &text[copied..])
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX / 4)
}
