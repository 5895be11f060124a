//! The difference between what was recorded and what comes now.

use std::fmt;

use serde_json::Value;

use crate::text::{floor_boundary, push_index, push_key, quote};

/// The most characters of a value that a message shows.
const SHOWN: usize = 80;

/// The characters of a text that stand before its first difference in a message.
const BEFORE: usize = 16;

/// The distance between two leaves that have nothing in common.
const LEAF: usize = 1000;

/// The first difference of two JSON values.
pub(super) struct ValueDifference {
    /// The path of the value, such as `messages[0].content[0].text`; empty for the whole.
    path: String,
    recorded: Option<String>,
    now: Option<String>,
}

impl ValueDifference {
    /// Returns the first difference, in the order of the recorded value.
    pub(super) fn between(recorded: &Value, now: &Value) -> Option<Self> {
        let mut path = String::new();
        let (recorded, now) = first(Some(recorded), Some(now), &mut path)?;
        let (recorded, now) = shown_pair(recorded, now);
        Some(Self { path, recorded, now })
    }
}

impl fmt::Display for ValueDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "at {}: ", self.path)?;
        }
        let or_nothing = |value: &Option<String>| value.clone().unwrap_or("nothing".to_owned());
        write!(f, "recorded {}, now {}", or_nothing(&self.recorded), or_nothing(&self.now))
    }
}

type Pair<'a> = (Option<&'a Value>, Option<&'a Value>);

fn first<'a>(
    recorded: Option<&'a Value>,
    now: Option<&'a Value>,
    path: &mut String,
) -> Option<Pair<'a>> {
    if recorded == now {
        return None;
    }
    let len = path.len();
    match (recorded, now) {
        (Some(Value::Object(own)), Some(Value::Object(other))) => {
            let added = other.keys().filter(|key| !own.contains_key(*key));
            for key in own.keys().chain(added) {
                push_key(path, key);
                if let Some(found) = first(own.get(key), other.get(key), path) {
                    return Some(found);
                }
                path.truncate(len);
            }
            None
        }
        (Some(Value::Array(own)), Some(Value::Array(other))) => {
            for index in 0..own.len().max(other.len()) {
                push_index(path, index);
                if let Some(found) = first(own.get(index), other.get(index), path) {
                    return Some(found);
                }
                path.truncate(len);
            }
            None
        }
        pair => Some(pair),
    }
}

/// Returns two values for a message. Of two long texts, it is the part where they differ.
fn shown_pair(recorded: Option<&Value>, now: Option<&Value>) -> (Option<String>, Option<String>) {
    if let (Some(Value::String(own)), Some(Value::String(other))) = (recorded, now) {
        let same = own.bytes().zip(other.bytes()).take_while(|(own, other)| own == other).count();
        let from = if same > BEFORE { floor_boundary(own, same - BEFORE) } else { 0 };
        // Up to there, both are the same text.
        let show = |text: &str| {
            let mark = if from > 0 { "…" } else { "" };
            Some(format!("\"{mark}{}\"", quote(&text[from..], SHOWN)))
        };
        return (show(own), show(other));
    }
    let show = |value: Option<&Value>| value.map(|value| quote(&value.to_string(), SHOWN));
    (show(recorded), show(now))
}

/// Returns how much of two values differs: zero if they are equal.
pub(super) fn distance(own: &Value, other: &Value) -> usize {
    match (own, other) {
        _ if own == other => 0,
        (Value::Object(own), Value::Object(other)) => {
            let added = other.iter().filter(|(key, _)| !own.contains_key(*key));
            let of_own = own.iter().map(|(key, value)| match other.get(key) {
                Some(other) => distance(value, other),
                None => weight(value),
            });
            of_own.sum::<usize>() + added.map(|(_, value)| weight(value)).sum::<usize>()
        }
        (Value::Array(own), Value::Array(other)) => {
            let both = own.len().min(other.len());
            let rest = own[both..].iter().chain(&other[both..]);
            own.iter().zip(other).map(|(own, other)| distance(own, other)).sum::<usize>()
                + rest.map(weight).sum::<usize>()
        }
        (Value::String(own), Value::String(other)) => text_distance(own, other),
        (Value::Number(own), Value::Number(other)) => number_distance(own, other),
        _ => weight(own).max(weight(other)),
    }
}

/// Returns the distance of a value from nothing.
fn weight(value: &Value) -> usize {
    match value {
        Value::Object(fields) => LEAF + fields.values().map(weight).sum::<usize>(),
        Value::Array(items) => LEAF + items.iter().map(weight).sum::<usize>(),
        _ => LEAF,
    }
}

/// Returns the part of two texts that is neither at the beginning nor at the end of both.
fn text_distance(own: &str, other: &str) -> usize {
    let equal = |(own, other): &(u8, u8)| own == other;
    let start = own.bytes().zip(other.bytes()).take_while(equal).count();
    let (own, other) = (&own.as_bytes()[start..], &other.as_bytes()[start..]);
    let end = own.iter().rev().zip(other.iter().rev()).take_while(|(own, other)| own == other);
    let end = end.count();
    let (different, all) = (own.len().max(other.len()) - end, start + own.len().max(other.len()));
    (LEAF * different / all.max(1)).max(1)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a part of `LEAF`"
)]
fn number_distance(own: &serde_json::Number, other: &serde_json::Number) -> usize {
    let (Some(own), Some(other)) = (own.as_f64(), other.as_f64()) else { return LEAF };
    let sum = own.abs() + other.abs();
    let part = if sum > 0.0 { (own - other).abs() / sum } else { 0.0 };
    ((part * LEAF as f64) as usize).clamp(1, LEAF)
}
