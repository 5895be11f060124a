//! Ids of requests.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// The largest number up to which a double holds every integer.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// The id of a request: an integer or a text, which are different ids even if they read the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::mcp::server) enum RequestId {
    Number(i64),
    Text(Arc<str>),
}

impl RequestId {
    /// Reads an id; `None` if it is neither an integer of 64 bits nor a text.
    pub(in crate::mcp::server) fn read(text: &RawValue) -> Option<Self> {
        let text = text.get();
        if text.starts_with('"') {
            return serde_json::from_str::<String>(text).ok().map(|text| Self::Text(text.into()));
        }
        if let Ok(number) = text.parse() {
            return Some(Self::Number(number));
        }
        // `1.0` and `1e2` are integers in another spelling.
        let number: f64 = serde_json::from_str(text).ok()?;
        #[allow(clippy::cast_possible_truncation, reason = "it has no fraction and fits")]
        (number.fract() == 0.0 && number.abs() < MAX_EXACT).then_some(Self::Number(number as i64))
    }

    /// Returns the id as an integer, if it is one.
    pub(in crate::mcp::server) fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}
