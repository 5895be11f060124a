//! Texts on one line.

use crate::text::clean;

/// A text that somebody else wrote, on one line.
pub(super) fn line(text: &str) -> String {
    let clean = clean(text);
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning of a text, with a sign if that is not all.
pub(super) fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A number with a thin mark between thousands: `12 345`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}
