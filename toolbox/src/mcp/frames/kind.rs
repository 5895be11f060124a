//! The kinds of messages, and the breaches of the protocol.

use serde::Serialize;

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FrameKind {
    /// A request, which is to be answered.
    Request,
    /// The result of a request.
    Result,
    /// The error that answers a request.
    Error,
    /// A notification.
    Notification,
    /// A message that is none of these.
    Invalid,
}

/// A breach of the protocol by a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProtocolFault {
    /// A stable name of the rule, such as `unknown-id`.
    pub rule: &'static str,
    /// The breach in words.
    pub message: String,
}

impl ProtocolFault {
    pub(super) fn new(rule: &'static str, message: impl Into<String>) -> Self {
        Self { rule, message: message.into() }
    }
}
