//! Answers to requests, at once or later.

use std::pin::Pin;

use super::protocol::{self, ErrorCode, ProtocolError, RequestId};

/// An answer that takes time.
pub(super) type LaterAnswer = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// The answer to a request, at once or later.
pub(super) enum Reply {
    Now(Answer),
    Later(LaterAnswer),
}

/// A whole answer: the message, and the kind of its error.
pub(super) struct Answer {
    pub(super) message: Vec<u8>,
    pub(super) error: Option<ErrorCode>,
}

impl Answer {
    pub(super) fn error(id: &RequestId, error: &ProtocolError) -> Self {
        Self { message: protocol::error_message(Some(id), error), error: Some(error.code) }
    }
}

impl From<Vec<u8>> for Answer {
    fn from(message: Vec<u8>) -> Self {
        Self { message, error: None }
    }
}
