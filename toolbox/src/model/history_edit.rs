//! The difference between two transcripts.

use super::history::History;

/// The difference between a transcript and an edited one, for a log.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct HistoryEdit {
    /// For each message, its position in the transcript before; none for the next of `new`.
    messages: Vec<Option<usize>>,
    new: History,
}

impl HistoryEdit {
    /// Returns the difference, if there is one.
    pub(crate) fn between(before: &History, after: &History) -> Option<Self> {
        let mut edit = Self { messages: Vec::with_capacity(after.len()), new: History::new() };
        let mut from = 0;
        for (at, message) in after.messages().iter().enumerate() {
            let is_pinned = after.is_pinned(at);
            let kept = before.messages()[from..]
                .iter()
                .position(|own| own.is_same(message))
                .map(|found| from + found)
                .filter(|found| before.is_pinned(*found) == is_pinned);
            if let Some(found) = kept {
                from = found + 1;
            } else {
                edit.new.messages.push(message.clone());
                if is_pinned {
                    edit.new.pin(edit.new.len() - 1);
                }
            }
            edit.messages.push(kept);
        }
        let is_same = edit.new.is_empty() && edit.messages.len() == before.len();
        (!is_same).then_some(edit)
    }

    /// Returns the edited transcript, given the one before; none if it is not that one.
    pub(crate) fn apply(&self, before: &History) -> Option<History> {
        let mut after = History::new();
        let mut new = 0;
        for kept in &self.messages {
            let (source, at) = match kept {
                Some(at) => (before, *at),
                None => {
                    new += 1;
                    (&self.new, new - 1)
                }
            };
            after.messages.push(source.messages().get(at)?.clone());
            if source.is_pinned(at) {
                after.pin(after.len() - 1);
            }
        }
        Some(after)
    }
}
