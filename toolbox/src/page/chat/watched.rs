//! A model that shows what it writes, and what it is sent, in a conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::conversation::ChatConversation;
use super::desk::ResultDesk;
use super::entry::{ChatEntry, WrittenKind};
use crate::context::CancellationToken;
use crate::future::BoxFuture;
use crate::model::{Delta, Deltas, Model, ModelError, ModelRequest, ModelResponse, Part};

/// The bytes of one reply beyond which the run is stopped.
const MAX_REPLY: usize = 4 << 20;

/// The model of a conversation.
pub(super) struct WatchedModel {
    pub(super) model: Arc<dyn Model>,
    pub(super) talk: Arc<ChatConversation>,
    pub(super) desk: Arc<ResultDesk>,
    pub(super) token: CancellationToken,
}

impl WatchedModel {
    fn take(&self, delta: &Delta, written: &AtomicUsize) {
        let (kind, text) = match delta {
            Delta::Text(text) => (Some(WrittenKind::Text), text),
            Delta::Reasoning(text) => (Some(WrittenKind::Reasoning), text),
            Delta::Arguments { text, .. } => (None, text),
            Delta::Call { name, .. } => (None, name),
        };
        let before = written.fetch_add(text.len(), Ordering::Relaxed);
        if before > MAX_REPLY {
            return;
        }
        if before + text.len() > MAX_REPLY {
            self.token.cancel();
            let note = format!("The reply is longer than {MAX_REPLY} bytes, and was stopped.");
            self.talk.change(|own| own.push(ChatEntry::note(&note)));
        } else if let Some(kind) = kind {
            self.talk.change(|own| own.write(kind, text));
        }
    }
}

impl Model for WatchedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn provider(&self) -> &'static str {
        self.model.provider()
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            self.desk.show(&request.history).await;
            self.talk.change(super::transcript::ChatTranscript::begin_reply);
            let written = AtomicUsize::new(0);
            let pass = |delta: Delta| {
                self.take(&delta, &written);
                deltas.send(delta);
            };
            let response = self.model.respond(request, Deltas::to(&pass)).await?;
            let texts = response.reply.parts.iter().filter_map(|part| match part {
                Part::Text { text, .. } => Some((WrittenKind::Text, text.clone())),
                Part::Reasoning { text, .. } => Some((WrittenKind::Reasoning, text.clone())),
                _ => None,
            });
            let texts: Vec<_> = texts.collect();
            self.talk.change(|own| own.take_reply(&texts));
            Ok(response)
        })
    }
}
