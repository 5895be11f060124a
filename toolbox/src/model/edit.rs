//! Editing of a transcript: whatever is taken out or replaced, every call keeps its result.

use std::ops::Range;
use std::sync::Arc;

use super::call_ids::KnownIds;
use super::history::{History, Message, UserContent};
use super::reply::{Part, Reply};

/// # Shortening and editing
///
/// A call and its result are one [message](Message::Step), so no edit can part them. A message is
/// named by its position in [`messages`](History::messages). One that is [pinned](History::pin)
/// stays until it is unpinned.
///
/// ```
/// use toolbox::model::{History, Replied, Reply};
///
/// let mut history = History::from("My name is Ada.");
/// history.pin(0);
/// for question in ["What is 2 + 3?", "And 4?"] {
///     history.push_user(question);
///     history.push_reply("Let me see.");
/// }
/// assert_eq!(history.turns(), [0..3, 3..5]);
///
/// let removed = history.keep_last_turns(1);
/// assert_eq!((removed.len(), history.len()), (2, 3));
/// history.replace_text(2, "5, and 4.");
/// assert_eq!(history.last_reply().unwrap().content(), "5, and 4.");
/// ```
#[allow(clippy::return_self_not_must_use, reason = "what was taken out may be dropped")]
impl History {
    /// Adds a reply that the model did not give: an example for it, or the answer that a person
    /// gave in its place. A blank text adds nothing.
    pub fn push_reply(&mut self, text: impl Into<String>) {
        let reply = Reply::text(text);
        if !reply.is_empty() {
            self.push_step(reply, Vec::new());
        }
    }

    /// Adds a message of the user at a position, before the message that stands there; at the end
    /// if there is none.
    pub fn insert_user(&mut self, position: usize, content: impl Into<UserContent>) {
        let position = position.min(self.len());
        for pinned in &mut self.pinned {
            *pinned += usize::from(*pinned >= position);
        }
        self.messages.insert(position, Message::User(content.into().into_parts()));
    }

    /// Pins a message: no removal takes it out, nor is it shortened when a run [fits its
    /// context](crate::agent::AgentBuilder::max_context_tokens). Returns `false` if there is none
    /// at the position.
    pub fn pin(&mut self, position: usize) -> bool {
        let is_there = position < self.len();
        if is_there && let Err(at) = self.pinned.binary_search(&position) {
            self.pinned.insert(at, position);
        }
        is_there
    }

    /// Unpins a message. Returns `false` if it was not pinned.
    pub fn unpin(&mut self, position: usize) -> bool {
        let found = self.pinned.binary_search(&position);
        found.map(|at| self.pinned.remove(at)).is_ok()
    }

    /// Returns `true` if the message at a position is pinned.
    #[must_use]
    pub fn is_pinned(&self, position: usize) -> bool {
        self.pinned.binary_search(&position).is_ok()
    }

    /// Returns the positions of each turn: messages of the user, and all replies up to the next
    /// message of the user. Replies before the first are a turn as well.
    ///
    /// Reports of background jobs are messages of the user in this sense.
    #[must_use]
    pub fn turns(&self) -> Vec<Range<usize>> {
        let mut turns: Vec<Range<usize>> = Vec::new();
        let mut has_replies = true;
        for (at, message) in self.messages().iter().enumerate() {
            let is_reply = matches!(message, Message::Step(_));
            match turns.last_mut() {
                Some(turn) if is_reply || !has_replies => turn.end = at + 1,
                _ => turns.push(at..at + 1),
            }
            has_replies = is_reply;
        }
        turns
    }

    /// Takes messages out, except for those that are pinned, and returns them. Positions beyond the
    /// end are ignored.
    pub fn remove(&mut self, positions: Range<usize>) -> History {
        self.take_out(|at| positions.contains(&at))
    }

    /// Takes out all messages that are not pinned, and returns them.
    pub fn clear(&mut self) -> History {
        self.take_out(|_| true)
    }

    /// Takes out all but the last turns, except for what is pinned, and returns it.
    pub fn keep_last_turns(&mut self, count: usize) -> History {
        let turns = self.turns();
        let start = match count {
            0 => self.len(),
            _ => turns.len().checked_sub(count).map_or(0, |first| turns[first].start),
        };
        self.remove(0..start)
    }

    /// Puts a message of the user in the place of messages, except for those that are pinned, which
    /// then stand behind it. Returns what was taken out. Where nothing is, no message is added.
    pub fn replace(&mut self, positions: Range<usize>, content: impl Into<UserContent>) -> History {
        let start = positions.start;
        let removed = self.remove(positions);
        if !removed.is_empty() {
            self.insert_user(start, content);
        }
        removed
    }

    /// Replaces the content of a message of the user, or the text of a reply, which keeps its calls
    /// and its reasoning. Returns `false` if there is no message at the position, or if nothing
    /// would be left of a reply.
    pub fn replace_text(&mut self, position: usize, text: impl Into<String>) -> bool {
        let Some(message) = self.messages.get_mut(position) else { return false };
        match message {
            Message::User(content) => *content = UserContent::from(text.into()).into_parts(),
            Message::Step(step) => {
                let is_text = |part: &Part| matches!(part, Part::Text { .. });
                let mut parts = step.reply.parts.clone();
                let at = parts.iter().position(is_text);
                parts.retain(|part| !is_text(part));
                // Text stands before the calls, and behind the reasoning that led to it.
                let before_calls = parts.iter().position(|part| matches!(part, Part::Call { .. }));
                let at = at.or(before_calls).unwrap_or(parts.len());
                parts.insert(at, Part::text(text));
                let reply = Reply { parts, finish: step.reply.finish.clone() };
                if reply.is_empty() {
                    return false;
                }
                Arc::make_mut(step).reply = reply;
            }
        }
        true
    }

    /// Replaces the content of a result by a text, by the id of its call. It remains a failure if
    /// it was one, and is pending no more. Returns `false` if there is no call of the id.
    pub fn replace_result(&mut self, call_id: &str, text: impl Into<String>) -> bool {
        let text = text.into();
        self.edit_result(call_id, move |result| {
            let bytes = result.content().iter().map(crate::Content::len).sum();
            result.replace_content(vec![crate::Content::text(text)], bytes);
            result.settle();
        })
    }

    /// Changes the result of a call.
    pub(crate) fn edit_result(
        &mut self,
        call_id: &str,
        edit: impl FnOnce(&mut crate::ToolResult),
    ) -> bool {
        for message in &mut self.messages {
            let Message::Step(step) = message else { continue };
            let Some(at) = step.results.iter().position(|own| own.call_id() == call_id) else {
                continue;
            };
            edit(&mut Arc::make_mut(step).results[at]);
            return true;
        }
        false
    }

    /// Takes out the messages at the positions that `is_wanted` holds for, and returns them.
    pub(crate) fn take_out(&mut self, is_wanted: impl Fn(usize) -> bool) -> History {
        let mut removed = History::new();
        let mut pinned = Vec::new();
        let messages = std::mem::take(&mut self.messages);
        self.known_ids = KnownIds::default();
        for (at, message) in messages.into_iter().enumerate() {
            let is_pinned = self.is_pinned(at);
            if is_wanted(at) && !is_pinned {
                removed.messages.push(message);
                continue;
            }
            if is_pinned {
                pinned.push(self.messages.len());
            }
            self.messages.push(message);
        }
        self.pinned = pinned;
        removed
    }
}

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

impl History {
    /// Returns the call of an id, with its result.
    pub(crate) fn call(&self, id: &str) -> Option<(&crate::ToolCall, &crate::ToolResult)> {
        self.steps().flat_map(super::history::Step::calls).find(|(call, _)| call.id == id)
    }
}

impl UserContent {
    pub(crate) fn into_parts(self) -> Arc<[crate::Content]> {
        self.0
    }
}
