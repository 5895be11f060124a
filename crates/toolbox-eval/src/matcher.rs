//! Matchers of arguments.

use std::collections::BTreeMap;
use std::fmt;

use regex::Regex;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The matchers of a call, by the name of the argument.
pub type ArgumentMatchers = BTreeMap<String, ArgumentMatcher>;

/// A condition on one argument.
///
/// In a file it is an object with one key, as `{contains: oslo}`; a value that is no object stands
/// for `{equal: value}`. Numbers are compared by their values: `1` equals `1.0`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ArgumentMatcher {
    /// `{equal: VALUE}`: the same JSON value.
    Equal(Value),
    /// `{contains: TEXT}`: a text that contains this one, case ignored, or a list with an item
    /// that does.
    Contains(String),
    /// `{regex: PATTERN}`: a text in which a regular expression matches.
    Regex(TextPattern),
    /// `{range: [LEAST, MOST]}`: a number within these bounds, both included; `null` for no bound.
    Range(Option<f64>, Option<f64>),
    /// `{any: true}`: any value but null; the argument is there.
    Any,
    /// `{absent: true}`: null, or no such argument.
    Absent,
}

/// A regular expression, in the syntax of the crate `regex`.
#[derive(Debug, Clone)]
pub struct TextPattern(Regex);

impl TextPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// The fault in the pattern.
    pub fn new(pattern: &str) -> Result<Self, String> {
        Regex::new(pattern).map(Self).map_err(|error| {
            let shown = error.to_string();
            let last = shown.lines().last().unwrap_or_default();
            format!("`{pattern}` is no regular expression: {}", last.trim_start_matches("error: "))
        })
    }

    /// Returns `true` if the pattern matches somewhere in a text.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

impl fmt::Display for TextPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl<'de> Deserialize<'de> for TextPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl ArgumentMatcher {
    /// Returns `true` if an argument meets the condition; `None` is one that is not there.
    #[must_use]
    pub fn matches(&self, argument: Option<&Value>) -> bool {
        let present = argument.filter(|value| !value.is_null());
        match (self, present) {
            (Self::Absent, present) => present.is_none(),
            (Self::Equal(Value::Null), present) => present.is_none() && argument.is_some(),
            (_, None) => false,
            (Self::Any, Some(_)) => true,
            (Self::Equal(expected), Some(value)) => equal(expected, value),
            (Self::Contains(part), Some(value)) => contains(value, part),
            (Self::Regex(pattern), Some(value)) => {
                value.as_str().is_some_and(|text| pattern.is_match(text))
            }
            (Self::Range(least, most), Some(value)) => value.as_f64().is_some_and(|number| {
                least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most)
            }),
        }
    }

    fn from_value(value: Value) -> Result<Self, String> {
        const KEYS: &str = "`equal`, `contains`, `regex`, `range`, `any` or `absent`";
        let Value::Object(map) = value else { return Ok(Self::Equal(value)) };
        let mut entries = map.into_iter();
        let (Some((key, value)), None) = (entries.next(), entries.next()) else {
            return Err(format!("a matcher has one key, {KEYS}; an object is `{{equal: {{..}}}}`"));
        };
        let text = |value: Value| {
            value.as_str().map(str::to_owned).ok_or_else(|| format!("`{key}` takes a text"))
        };
        match key.as_str() {
            "equal" => Ok(Self::Equal(value)),
            "contains" => text(value).map(Self::Contains),
            "regex" => TextPattern::new(&text(value)?).map(Self::Regex),
            "range" => range(&value),
            "any" if value == true => Ok(Self::Any),
            "absent" if value == true => Ok(Self::Absent),
            "any" | "absent" => Err(format!("`{key}` takes `true`")),
            other => Err(format!("there is no matcher `{other}`: write {KEYS}")),
        }
    }
}

impl fmt::Display for ArgumentMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |bound: &Option<f64>| bound.map_or("..".to_owned(), |bound| bound.to_string());
        match self {
            Self::Equal(value) => write!(f, "{value}"),
            Self::Contains(part) => write!(f, "a text that contains {part:?}"),
            Self::Regex(pattern) => write!(f, "a text that matches `{pattern}`"),
            Self::Range(least, most) => {
                write!(f, "a number from {} to {}", bound(least), bound(most))
            }
            Self::Any => f.write_str("any value"),
            Self::Absent => f.write_str("no value"),
        }
    }
}

impl<'de> Deserialize<'de> for ArgumentMatcher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Returns `true` if two values are the same, with numbers compared by their values.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => {
            // Of integers, a float does not hold the last digits.
            let any_float = a.is_f64() || b.is_f64();
            a == b || any_float && a.as_f64() == b.as_f64()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |key, value| b.get(key).is_some_and(|other| equal(value, other));
            a.len() == b.len() && a.iter().all(|(key, value)| same(key, value))
        }
        (a, b) => a == b,
    }
}

pub(crate) fn contains_text(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

fn contains(value: &Value, part: &str) -> bool {
    match value {
        Value::String(text) => contains_text(text, part),
        Value::Array(items) => items.iter().any(|item| contains(item, part)),
        _ => false,
    }
}

fn range(value: &Value) -> Result<ArgumentMatcher, String> {
    const FORM: &str = "`range` takes a list of two numbers, or null for no bound";
    let Some([least, most]) = value.as_array().map(Vec::as_slice) else {
        return Err(FORM.to_owned());
    };
    let bound = |value: &Value| match value {
        Value::Null => Ok(None),
        value => value.as_f64().map(Some).ok_or(FORM),
    };
    let (least, most) = (bound(least)?, bound(most)?);
    if least.zip(most).is_some_and(|(least, most)| least > most) {
        return Err(format!("no number is in the range {value}"));
    }
    Ok(ArgumentMatcher::Range(least, most))
}
