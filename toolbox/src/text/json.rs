//! Values of a type as JSON.

use serde::Serialize;
use serde_json::Value;

/// Returns a value as JSON, null if it has no such form.
///
/// By way of its text, so that a type is compiled for one serializer.
pub(crate) fn json_value(value: &impl Serialize) -> Value {
    let text = serde_json::to_string(value);
    text.and_then(|text| serde_json::from_str(&text)).unwrap_or_default()
}
