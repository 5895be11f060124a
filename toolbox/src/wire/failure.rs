//! The failures that services report in a body or an event.

use serde_json::Value;

use super::format::WireError;

/// The keys under which Anthropic and Gemini state the kind of a failure.
pub(super) const WORDS: [&str; 3] = ["type", "status", "code"];

/// Reads the `error` of a body or an event, in any of the known shapes.
///
/// Its kind is the first of `words` that is present: the services differ in which is the most
/// specific.
pub(super) fn service_error(error: &Value, words: &[&str]) -> WireError {
    let word = |key: &str| match error.get(key)? {
        Value::String(word) if !word.is_empty() => Some(word.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    WireError::Service {
        kind: words.iter().find_map(|key| word(key)).unwrap_or_else(|| "error".into()),
        message: word("message")
            .or_else(|| error.as_str().map(str::to_owned))
            .unwrap_or_else(|| error.to_string()),
    }
}
