//! The entries of a conversation: messages, texts of the model, calls, notes, ends of turns.

use serde_json::{Value, json};

use crate::text::cut;

/// The most bytes that are kept of one text of a model.
const MAX_TEXT: usize = 256 << 10;

/// The items of a tool that streams that are kept of a call, and the bytes of each.
const MAX_ITEMS: usize = 200;
const MAX_ITEM: usize = 1000;

/// An entry of a conversation.
pub(super) struct ChatEntry {
    /// The version of the conversation in which the entry changed last.
    pub(super) version: u64,
    /// The version in which it was written anew: later ones only added to its text.
    pub(super) written: u64,
    /// All but the text of a model, which grows.
    pub(super) shown: Value,
    pub(super) text: String,
    /// The bytes of the text that are not kept.
    pub(super) omitted: usize,
    /// The id of the call that made a call, and its own.
    pub(super) call: Option<(String, String)>,
}

/// The kinds of texts that a model writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WrittenKind {
    Text,
    Reasoning,
}

impl WrittenKind {
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
        }
    }
}

impl ChatEntry {
    pub(super) fn new(shown: Value) -> Self {
        Self { version: 0, written: 0, shown, text: String::new(), omitted: 0, call: None }
    }

    pub(super) fn text(kind: &str, text: &str) -> Self {
        let mut entry = Self::new(json!({ "kind": kind }));
        entry.add(text);
        entry
    }

    pub(super) fn note(text: &str) -> Self {
        Self::new(json!({"kind": "note", "text": cut(text, 2000)}))
    }

    pub(super) fn call(by: &str, id: &str, tool: &str, within: &[String]) -> Self {
        let shown = json!({
            "kind": "call",
            "id": id,
            "tool": tool,
            "within": within,
            "state": "running",
            "arguments": null,
            "progress": null,
            "items": [],
            "notes": [],
            "result": null,
        });
        Self { call: Some((by.to_owned(), id.to_owned())), ..Self::new(shown) }
    }

    /// Adds to the text of a model, as much as is kept.
    pub(super) fn add(&mut self, text: &str) {
        let kept = cut(text, MAX_TEXT.saturating_sub(self.text.len()));
        // Nothing follows a gap.
        let kept = if self.omitted > 0 { "" } else { kept };
        self.text.push_str(kept);
        self.omitted += text.len() - kept.len();
    }

    pub(super) fn item(&mut self, index: u64, text: &str) {
        let Some(items) = self.shown["items"].as_array_mut() else { return };
        if items.len() >= MAX_ITEMS {
            items.remove(0);
        }
        items.push(json!({"index": index, "text": cut(text, MAX_ITEM)}));
    }

    pub(super) fn is(&self, kind: WrittenKind) -> bool {
        self.shown["kind"] == kind.code()
    }

    /// Returns the bytes that the entry takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.text.len() + weight(&self.shown)
    }
}

/// Returns about the bytes of a value as JSON.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 2,
        Value::Object(members) => {
            members.iter().map(|(name, own)| name.len() + weight(own) + 4).sum::<usize>() + 2
        }
        _ => 8,
    }
}
