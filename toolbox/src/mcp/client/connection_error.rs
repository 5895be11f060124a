//! The failure of a connection or of a request over it.

use std::time::Duration;

use serde_json::Value;

use super::http::lost_session::MAY_HAVE_RUN;
use super::text;
use crate::text::cut;

/// A failed request or connection; the text fits after the server's name.
#[derive(Debug)]
pub(super) enum ConnectionError {
    /// The server answered with a JSON-RPC error.
    Refused { code: i32, message: String, data: Option<Box<Value>> },
    /// The server answered, and the answer cannot be used.
    Unread(String),
    /// The server requires authorization and refused the credentials that were sent, if any.
    Unauthorized {
        reason: String,
        /// `true` if it says with a challenge that one can sign in.
        is_challenged: bool,
        /// `true` if what was granted to a user is good no more.
        is_ended: bool,
        /// The scopes that it names.
        #[cfg_attr(not(feature = "mcp-oauth"), allow(dead_code, reason = "for a sign-in"))]
        scopes: Option<String>,
    },
    /// There was neither an answer nor progress for this time, and the request was given up.
    Silent(Duration),
    /// The session was lost in a call that may have run. The next request opens another.
    SessionLost,
    /// The connection ended or was never established.
    Lost(String),
    /// The server was not connected within its time.
    TimedOut(String),
}

/// The maximum length of the data of an error that a model reads, in bytes.
const MAX_DATA: usize = 2000;

/// Returns the data of a server's error as the end of a sentence; empty if there is none.
pub(super) fn with_data(data: Option<&Value>) -> String {
    let text = match data {
        None | Some(Value::Null) => return String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(data) => data.to_string(),
    };
    let shown = cut(&text, MAX_DATA);
    let more = if shown.len() < text.len() { " .." } else { "" };
    format!("; data: {}{more}", text::clean(shown))
}

impl std::fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused { code, message, .. } => {
                write!(f, "answered with error {code}: {message}")
            }
            Self::SessionLost => f.write_str(MAY_HAVE_RUN),
            Self::Silent(limit) => write!(f, "reported no progress for {limit:?}"),
            Self::Unread(reason)
            | Self::Unauthorized { reason, .. }
            | Self::Lost(reason)
            | Self::TimedOut(reason) => f.write_str(reason),
        }
    }
}
