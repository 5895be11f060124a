//! Formatting of texts on one line.

use crate::text::{clean, is_invisible};

/// Cleans a third-party text and puts it on one line.
pub(super) fn line(text: &str) -> String {
    let clean = clean(text);
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a third-party text for a person who decides on it: each character that would be
/// invisible on a terminal, or hide others there, is shown by its number.
pub(super) fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        if is_invisible(c) {
            visible.extend(c.escape_unicode());
        } else {
            visible.push(c);
        }
    }
    visible
}

/// Returns the beginning of a text, with an ellipsis if it was cut.
pub(super) fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Formats a number with thin spaces between thousands: `12 345`.
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

/// Formats a number of things: `1 tool`, `12 345 tools`.
pub(super) fn counted(number: usize, thing: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{} {thing}{end}", grouped(number))
}
