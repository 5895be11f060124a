//! What says that a session is lost: the status of the protocol, and the words of servers that use
//! another one.

use reqwest::StatusCode;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde::Deserialize;

/// The text of an error of a call in a session that was lost without a word about whether it ran.
pub(in crate::mcp::client) const MAY_HAVE_RUN: &str =
    "its session was lost, and the call may have run";

/// The longest text that is searched, in bytes.
const SEARCHED: usize = 2000;

/// The words beside `session` with which servers say that one is lost.
const WORDS: [&str; 12] = [
    "closed",
    "does not exist",
    "doesn't exist",
    "expired",
    "gone",
    "invalid",
    "lost",
    "no longer",
    "no valid",
    "not found",
    "terminated",
    "unknown",
];

/// Returns `true` if a text says that a session is lost, and so that nothing ran in it.
fn is_told_in(text: &str) -> bool {
    let text = crate::text::cut(text, SEARCHED).to_ascii_lowercase();
    text.contains("session") && WORDS.iter().any(|word| text.contains(word))
}

/// The codes of errors of a transport. An error of a tool may speak of sessions of its own.
const CODES: [i32; 3] = [-32000, -32001, -32600];

/// Returns `true` if an error of a transport says so.
pub(in crate::mcp::client) fn is_told_as(code: i32, message: &str) -> bool {
    CODES.contains(&code) && is_told_in(message)
}

/// Returns `true` if a message is such an error. Its id may be missing.
pub(super) fn is_told_by(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct ErrorMessage {
        error: TransportError,
    }
    #[derive(Deserialize)]
    struct TransportError {
        code: i32,
        message: String,
    }
    let read = serde_json::from_slice::<ErrorMessage>(message);
    read.is_ok_and(|read| is_told_as(read.error.code, &read.error.message))
}

/// Returns the error of a request in a session whose answer has this status and body, if they say
/// that the session is lost.
///
/// rmcp opens a session again and repeats the request, which is right if it did not run: a status
/// alone does not say so of a call.
pub(super) fn error_of(
    status: StatusCode,
    body: &[u8],
    is_call: bool,
) -> Option<StreamableHttpError<reqwest::Error>> {
    let is_gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
    let may_tell = is_gone || status == StatusCode::BAD_REQUEST;
    if may_tell && is_told_in(&String::from_utf8_lossy(body)) || is_gone && !is_call {
        return Some(StreamableHttpError::SessionExpired);
    }
    is_gone.then(|| StreamableHttpError::UnexpectedServerResponse(MAY_HAVE_RUN.into()))
}
