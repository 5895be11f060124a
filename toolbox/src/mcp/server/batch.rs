//! Batches of messages, which are part of 2025-03-26 alone.

use serde_json::value::RawValue;
use tokio::task::JoinSet;

use super::answer::LaterAnswer;
use super::open_requests::OpenRequest;
use super::protocol::{
    ErrorCode, Message, MessageFault, ProtocolError, RequestFrame, error_message,
};

/// The most messages of a batch.
const MAX_MESSAGES: usize = 64;

/// Reads a batch as its messages, each with the fault that it has by itself.
pub(super) fn messages(
    text: &[u8],
) -> Result<Vec<Result<Message<'_>, MessageFault>>, ProtocolError> {
    let invalid = |message: String| ProtocolError::new(ErrorCode::InvalidRequest, message);
    let items: Vec<&RawValue> = serde_json::from_slice(text).map_err(|error| {
        let message = format!("the batch is not JSON: {error}");
        ProtocolError::new(ErrorCode::ParseError, message)
    })?;
    if items.is_empty() {
        return Err(invalid("the batch is empty".to_owned()));
    }
    if items.len() > MAX_MESSAGES {
        return Err(invalid(format!("a batch may hold {MAX_MESSAGES} messages at most")));
    }
    Ok(items.into_iter().map(|item| Message::read(item.get().as_bytes())).collect())
}

/// Refuses what may not stand in a batch.
pub(super) fn check(request: &RequestFrame<'_>) -> Result<(), ProtocolError> {
    if request.method == "initialize" {
        let message = "`initialize` stands in no batch: send it by itself";
        return Err(ProtocolError::new(ErrorCode::InvalidRequest, message));
    }
    Ok(())
}

/// The answers to a batch, which go out as one list once the last is there.
#[derive(Default)]
pub(super) struct BatchAnswers {
    ready: Vec<Vec<u8>>,
    later: JoinSet<Option<Vec<u8>>>,
}

impl BatchAnswers {
    pub(super) fn now(&mut self, message: Vec<u8>) {
        self.ready.push(message);
    }

    pub(super) fn fault(&mut self, fault: &MessageFault) {
        self.now(error_message(fault.id.as_ref(), &fault.error));
    }

    pub(super) fn later(&mut self, open: OpenRequest, answer: LaterAnswer) {
        self.later.spawn(async move {
            let answer = answer.await;
            open.finish().then_some(answer.message)
        });
    }

    /// Returns `true` if no answer takes time.
    pub(super) fn is_ready(&self) -> bool {
        self.later.is_empty()
    }

    /// Returns the answers that are there; `None` if there are none.
    pub(super) fn list(self) -> Option<Vec<u8>> {
        (!self.ready.is_empty()).then(|| [b"[", &*self.ready.join(&b","[..]), b"]"].concat())
    }

    /// Returns all answers, once they are there; `None` if nothing is answered.
    pub(super) async fn all(mut self) -> Option<Vec<u8>> {
        while let Some(answer) = self.later.join_next().await {
            self.ready.extend(answer.ok().flatten());
        }
        self.list()
    }
}
