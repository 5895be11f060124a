//! What a service says of its own failure.

use serde_json::Value;

use super::WireError;

/// Reads the `error` of a body or an event, whatever it is made of.
///
/// `kind` is the first of `type`, `status` and `code` that says something.
pub(super) fn service_error(error: &Value) -> WireError {
    let word = |key: &str| match error.get(key)? {
        Value::String(word) if !word.is_empty() => Some(word.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    WireError::Service {
        kind: ["type", "status", "code"]
            .into_iter()
            .find_map(word)
            .unwrap_or_else(|| "error".into()),
        message: word("message")
            .or_else(|| error.as_str().map(str::to_owned))
            .unwrap_or_else(|| error.to_string()),
    }
}
