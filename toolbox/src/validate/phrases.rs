//! Phrases for expected values, from a schema or from the expectation of a serde error.

use super::value::RECEIVED;
use crate::call::FaultKind;
use crate::text::quote;
use serde_json::Value;

use super::json::{JsonKind, Node};
use super::schema::JsonKinds;
use crate::schema::Format;

/// The most characters of a type's own error message that are repeated.
const WORDS: usize = 200;

pub(super) fn format_of(schema: &Value) -> Option<Format> {
    schema.get("format").and_then(Value::as_str).and_then(Format::named)
}

/// Returns a phrase for a format, such as "a date such as `2026-01-31`".
pub(super) fn format_phrase(schemas: &[&Value], node: Node<'_>) -> Option<String> {
    if node.kind() != JsonKind::String {
        return None;
    }
    if let Some(format) = schemas.iter().find_map(|schema| format_of(schema)) {
        return Some(format.told());
    }
    let named = schemas.iter().find_map(|schema| schema.get("format")?.as_str())?;
    Some(format!("text of the format `{}`", quote(named, RECEIVED)))
}

/// Describes the values of a schema that has no format, where the type's own message may not be
/// repeated.
pub(super) fn schema_phrase(schemas: &[&Value]) -> Option<String> {
    if let Some(pattern) = schemas.iter().find_map(|schema| schema.get("pattern")?.as_str()) {
        return Some(format!("text that matches `{}`", quote(pattern, RECEIVED)));
    }
    let mut rules = Vec::new();
    for (keyword, phrase) in [
        ("minimum", "at least"),
        ("exclusiveMinimum", "greater than"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "less than"),
        ("multipleOf", "a multiple of"),
    ] {
        if let Some(Value::Number(bound)) = schemas.iter().find_map(|schema| schema.get(keyword)) {
            rules.push(format!("{phrase} {bound}"));
        }
    }
    if !rules.is_empty() {
        return Some(rules.join(" and "));
    }
    let kinds = schemas
        .iter()
        .filter_map(|schema| schema.as_object())
        .fold(JsonKinds::ALL, |kinds, map| kinds & JsonKinds::of_type(map));
    (kinds != JsonKinds::ALL).then(|| format!("{} that the tool accepts", kinds.phrase()))
}

/// Describes what serde expected in words for a model: "an integer from 0 to 255" for `u8`.
pub(super) fn expectation(expected: &str) -> Option<(FaultKind, String)> {
    macro_rules! ranges {
        ($($name:ident)*) => {
            match expected.strip_prefix("a nonzero ").unwrap_or(expected) {
                $(stringify!($name) => Some((<$name>::MIN.to_string(), <$name>::MAX.to_string())),)*
                _ => None,
            }
        };
    }
    if let Some((least, most)) = ranges!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize) {
        let but = if expected.starts_with("a nonzero") { ", and not 0" } else { "" };
        return Some((FaultKind::OutOfRange, format!("an integer from {least} to {most}{but}")));
    }
    // Names of Rust types mean nothing to a model.
    let is_internal = ["struct ", "enum ", "tuple ", "unit ", "variant", "field identifier"];
    if is_internal.iter().any(|word| expected.contains(word)) {
        return None;
    }
    let phrase = match expected {
        "f32" | "f64" => "a number",
        other => other,
    };
    Some((FaultKind::Rejected, quote(phrase, WORDS)))
}

/// Returns the message of an error, short and safe to print, without its position in a text that
/// the model does not see.
pub(super) fn cleaned(message: &str) -> String {
    let message = message.trim();
    let message = match message.rsplit_once(" at line ") {
        Some((before, position)) if position.contains(" column ") => before,
        _ => message,
    };
    quote(message.trim_end_matches('.'), WORDS)
}

/// Returns `true` if a message is a predicate that needs a subject before it: "must be even".
pub(super) fn says_itself(words: &str) -> bool {
    const VERBS: [&str; 16] = [
        "must", "cannot", "can", "is", "are", "has", "have", "needs", "need", "may", "should",
        "does", "do", "was", "were", "would",
    ];
    words.split_whitespace().next().is_some_and(|first| VERBS.contains(&first))
}
