//! Values of a type as JSON.

use serde::Serialize;
use serde_json::Value;

/// Returns a value as JSON; `None` if it has no such form, or is nested too deeply to be read.
///
/// By way of its text, so that a type is compiled for one serializer.
pub(crate) fn json_value(value: &impl Serialize) -> Option<Value> {
    let text = serde_json::to_string(value).ok()?;
    serde_json::from_str(&text).ok()
}
