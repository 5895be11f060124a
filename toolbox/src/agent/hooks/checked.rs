//! The input or the answer that guards and validators check.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::ToolContext;
use crate::model::{History, Message};

/// The input of a run, or its answer, as a [`Guard`](super::Guard) or a
/// [validator](super::ValidateAnswer) gets it. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Checked {
    context: ToolContext,
    text: Arc<str>,
    value: Option<Arc<Value>>,
    history: Arc<History>,
}

impl Checked {
    /// Returns the input of a transcript that is about to be sent.
    pub(in crate::agent) fn input(context: ToolContext, history: History) -> Self {
        Self { context, text: last_input(&history).into(), value: None, history: history.into() }
    }

    /// Returns an answer to a transcript.
    pub(in crate::agent) fn answer(
        context: ToolContext,
        text: &str,
        value: Option<Value>,
        history: History,
    ) -> Self {
        Self { context, text: text.into(), value: value.map(Arc::new), history: history.into() }
    }

    /// Returns the text: of an input, the messages of the user since the last answer, each on lines
    /// of its own, and among them what has their form, as reports of jobs and notes of what was
    /// [removed](crate::agent::ContextRule); of an answer, its text, or its JSON where it is one
    /// [of a type](crate::agent::Run::answering_with).
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the answer as JSON, where the run was asked for one of a type.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        self.value.as_deref()
    }

    /// Reads the answer as a `T`: the JSON of an answer of a type, else the text as JSON.
    ///
    /// # Errors
    ///
    /// The error of serde, if it is no `T`.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        match &self.value {
            Some(value) => T::deserialize(&**value),
            None => serde_json::from_str(&self.text),
        }
    }

    /// Returns the transcript: of an input, all that is sent, pictures included; of an answer, what
    /// led to it.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the context of the run: its principal, its conversation, its states. An agent that
    /// is run in it counts as one below.
    #[must_use]
    pub fn context(&self) -> &ToolContext {
        &self.context
    }
}

/// Returns the text of the user's messages since the last answer.
fn last_input(history: &History) -> String {
    let is_answer =
        |message: &Message| matches!(message, Message::Step(step) if step.results().is_empty());
    let messages = history.messages();
    let begin = messages.iter().rposition(is_answer).map_or(0, |at| at + 1);
    let mut lines = Vec::new();
    for message in &messages[begin..] {
        if let Message::User(content) = message {
            lines.extend(content.iter().filter_map(|part| part.as_text()));
        }
    }
    lines.join("\n")
}
