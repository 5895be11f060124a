//! The lines of an audit log, and the chain that they are.

use std::fmt::Write as _;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::context::Conversation;
use crate::text::hex;

/// The hash before the first line.
pub(super) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The member at the end of a line, which is not hashed with it.
const HASH_MEMBER: &str = ",\"hash\":\"";

/// One line, without its hash.
#[derive(Serialize)]
pub(super) struct AuditLine<'a> {
    pub(super) seq: u64,
    /// RFC 3339, in UTC, with milliseconds.
    pub(super) time: &'a str,
    #[serde(flatten)]
    pub(super) entry: &'a AuditEntry,
    pub(super) prev: &'a str,
}

/// The content of a line.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum AuditEntry {
    Decision(AuditedDecision),
    Result(AuditedResult),
    /// A background job has its result.
    Job(AuditedResult),
    /// Lines that could not be written before this one.
    Dropped {
        count: u64,
    },
    /// The process that wrote before ended within a line, which was cut off.
    Recovered {
        torn_bytes: usize,
        torn_sha256: String,
    },
}

/// The call that a line is about.
#[derive(Debug, Clone, Serialize)]
pub(super) struct AuditedCall {
    pub(super) tool: String,
    pub(super) call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) principal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) conversation: Option<Conversation>,
    pub(super) arguments_sha256: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct AuditedDecision {
    #[serde(flatten)]
    pub(super) call: AuditedCall,
    pub(super) by: String,
    pub(super) decision: crate::event::DecisionKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct AuditedResult {
    #[serde(flatten)]
    pub(super) call: AuditedCall,
    pub(super) outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) job: Option<String>,
    pub(super) duration_ms: u64,
}

/// The members of a line that make the chain.
#[derive(Deserialize)]
pub(super) struct LineLink<'a> {
    pub(super) seq: u64,
    pub(super) prev: String,
    pub(super) hash: String,
    #[serde(borrow)]
    #[allow(dead_code, reason = "a line without a time is none of an audit log")]
    time: &'a RawValue,
}

/// Returns the text of a line without its end, and its hash.
pub(super) fn write(line: &AuditLine<'_>) -> (String, String) {
    // It has text and numbers alone.
    let mut text = plain(&serde_json::to_string(line).unwrap_or_default());
    text.pop();
    let hash = digest(text.as_bytes());
    let _ = write!(text, "{HASH_MEMBER}{hash}\"}}");
    (text, hash)
}

/// Reads a line; `None` if it is none, or its hash is not that of its text.
pub(super) fn read(text: &str) -> Option<LineLink<'_>> {
    let link: LineLink<'_> = serde_json::from_str(text).ok()?;
    let (hashed, end) = text.rsplit_once(HASH_MEMBER)?;
    let is_whole = end.strip_suffix("\"}") == Some(&link.hash);
    (is_whole && digest(hashed.as_bytes()) == link.hash).then_some(link)
}

/// Escapes what some programs take for the end of a line, or act on in a terminal.
fn plain(json: &str) -> String {
    if json.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_control()) {
        return json.to_owned();
    }
    let mut text = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if c.is_control() || crate::text::is_invisible(c) || matches!(c, '\u{2028}' | '\u{2029}') {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(c);
        }
    }
    text
}

/// Returns a SHA-256 digest, in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns a time in RFC 3339, in UTC.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
    format!("{time:.3}")
}
