//! The failures that services report, mapped to kinds of errors.

use reqwest::StatusCode;
use serde_json::Value;

use crate::model::ModelErrorKind;
use crate::wire::WireError;

/// The maximum number of characters of an unreadable body in a message.
const SNIPPET: usize = 200;

/// A failure as the service reports it.
pub(super) struct ServiceFailure {
    /// The service's terms for the kind, joined: code, type, status.
    pub(super) words: String,
    /// The service's message.
    pub(super) message: String,
}

impl ServiceFailure {
    /// Reads the body of a failure response, in any of the known shapes.
    pub(super) fn of(body: &str) -> Self {
        Self::from_json(body)
            .unwrap_or_else(|| Self { words: String::new(), message: snippet(body) })
    }

    fn from_json(body: &str) -> Option<Self> {
        let mut value: Value = serde_json::from_str(body).ok()?;
        // In a stream, Gemini wraps a failure in a list of one.
        if value.is_array() {
            value = value.get_mut(0)?.take();
        }
        let error = value.get("error").unwrap_or(&value);
        let word = |key: &str| match error.get(key)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let words: Vec<String> = ["code", "type", "status"].into_iter().filter_map(word).collect();
        let message = error
            .as_str()
            .map(str::to_owned)
            .or_else(|| word("message"))
            .or_else(|| word("detail"));
        Some(Self { words: words.join(" "), message: message.unwrap_or_else(|| snippet(body)) })
    }

    /// Returns `true` if waiting does not help: the quota is used up, not the rate.
    pub(super) fn is_final(&self) -> bool {
        self.words.contains("insufficient_quota")
    }

    /// Returns the kind of a failure that came with a status.
    pub(super) fn kind(&self, status: StatusCode) -> ModelErrorKind {
        let kind = match status.as_u16() {
            401 | 403 => ModelErrorKind::Unauthorized,
            408 => ModelErrorKind::TimedOut,
            429 => ModelErrorKind::RateLimited,
            // Another request was in the way; that passes, like an overload of the service.
            409 | 500.. => ModelErrorKind::Unavailable,
            400 | 404 | 405 | 413 | 415 | 422 => ModelErrorKind::InvalidRequest,
            _ => ModelErrorKind::Other,
        };
        if kind == ModelErrorKind::InvalidRequest && self.is_about_length() {
            ModelErrorKind::ContextTooLong
        } else {
            kind
        }
    }

    /// Returns the kind of a failure without a status, from a body or a stream, by the service's
    /// terms alone.
    fn kind_by_words(&self) -> ModelErrorKind {
        let words = self.words.to_ascii_lowercase();
        let has = |any: &[&str]| any.iter().any(|word| words.contains(word));
        if self.is_about_length() {
            ModelErrorKind::ContextTooLong
        } else if has(&["rate_limit", "resource_exhausted", "quota", "429"]) {
            ModelErrorKind::RateLimited
        } else if has(&["timeout", "deadline_exceeded", "408"]) {
            ModelErrorKind::TimedOut
        } else if has(&["authentication", "permission", "unauthenticated", "api_key", "401", "403"])
        {
            ModelErrorKind::Unauthorized
        } else if has(&[
            "overloaded",
            "server_error",
            "unavailable",
            "internal",
            "api_error",
            "50",
            "529",
        ]) {
            ModelErrorKind::Unavailable
        } else if has(&["invalid", "not_found", "failed_precondition", "400", "404", "422"]) {
            ModelErrorKind::InvalidRequest
        } else {
            ModelErrorKind::Other
        }
    }

    /// Returns `true` if the transcript is too long. Only `OpenAI` has a code for it; the others
    /// are recognized by their messages.
    fn is_about_length(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        let sentences = [
            "maximum context length",
            "context window",
            "context limit",
            "context length",
            "context size",
            "prompt is too long",
            "input is too long",
            "input token count",
            "exceeds the maximum number of tokens",
        ];
        self.words.contains("context_length_exceeded")
            || sentences.iter().any(|sentence| message.contains(sentence))
    }
}

/// Returns the kind and the message of a response that could not be read as a reply, and `true` if
/// waiting may help.
pub(super) fn unread(error: WireError) -> (ModelErrorKind, String, bool) {
    match error {
        // The reply was on its way when the connection ended.
        WireError::CutOff => (ModelErrorKind::Connection, error.to_string(), true),
        WireError::Service { kind, message } => {
            let failure = ServiceFailure { words: kind, message };
            let kind = failure.kind_by_words();
            let again = kind.is_retryable() && !failure.is_final();
            let message = format!("the service reports `{}`: {}", failure.words, failure.message);
            (kind, message, again)
        }
        // A page of a proxy, or a reply that was cut: the next response is usually complete.
        WireError::Invalid(_) => (ModelErrorKind::InvalidResponse, error.to_string(), true),
    }
}

/// Returns the beginning of a text on one line, to recognize it by.
pub(super) fn snippet(text: &str) -> String {
    if text.trim().is_empty() {
        return "no message is given".to_owned();
    }
    let mut head = String::new();
    for word in text.split_whitespace() {
        if head.len() + word.len() > SNIPPET {
            let room = SNIPPET.saturating_sub(head.len());
            head.extend(word.chars().take(room));
            head.push('…');
            break;
        }
        if !head.is_empty() {
            head.push(' ');
        }
        head.push_str(word);
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_the_kind_that_tells_what_to_do() {
        use ModelErrorKind as Kind;
        let cases = [
            (401, r#"{"error":{"message":"no key"}}"#, Kind::Unauthorized, "no key"),
            (
                404,
                r#"{"error":{"message":"no model","type":"invalid_request_error"}}"#,
                Kind::InvalidRequest,
                "no model",
            ),
            (
                400,
                r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#,
                Kind::ContextTooLong,
                "m",
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
                Kind::ContextTooLong,
                "prompt is too long: 9 > 8",
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"The input token count (9) is too much","status":"INVALID_ARGUMENT"}}]"#,
                Kind::ContextTooLong,
                "The input token count (9) is too much",
            ),
            (
                429,
                r#"{"error":{"message":"context window per minute"}}"#,
                Kind::RateLimited,
                "context window per minute",
            ),
            (
                503,
                "<html>\n  <h1>busy</h1>\n</html>",
                Kind::Unavailable,
                "<html> <h1>busy</h1> </html>",
            ),
            (529, r#"{"error":"overloaded"}"#, Kind::Unavailable, "overloaded"),
            (422, r#"{"detail":"field required"}"#, Kind::InvalidRequest, "field required"),
            (400, "", Kind::InvalidRequest, "no message is given"),
            (302, "null", Kind::Other, "null"),
            (500, "[]", Kind::Unavailable, "[]"),
        ];
        for (status, body, kind, message) in cases {
            let failure = ServiceFailure::of(body);
            assert_eq!(failure.kind(StatusCode::from_u16(status).unwrap()), kind, "{body}");
            assert_eq!(failure.message, message);
        }
        let words = [
            ("rate_limit_exceeded", Kind::RateLimited),
            ("RESOURCE_EXHAUSTED", Kind::RateLimited),
            ("overloaded_error", Kind::Unavailable),
            ("server_error", Kind::Unavailable),
            ("UNAVAILABLE", Kind::Unavailable),
            ("502", Kind::Unavailable),
            ("authentication_error", Kind::Unauthorized),
            ("invalid_prompt", Kind::InvalidRequest),
            ("odd", Kind::Other),
        ];
        for (word, kind) in words {
            let error = WireError::Service { kind: word.into(), message: "m".into() };
            assert_eq!(unread(error).0, kind, "{word}");
        }
    }

    #[test]
    fn a_snippet_is_short_whatever_it_is_of() {
        assert!(snippet(&"☃".repeat(10_000)).chars().count() <= SNIPPET + 1);
        assert!(snippet(&"word ".repeat(10_000)).len() <= SNIPPET + 10);
    }
}
