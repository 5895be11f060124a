//! The entries of a conversation as pages show them, bounded in number and bytes.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::entry::{ChatEntry, WrittenKind};

/// The most entries that are kept.
const MAX_ENTRIES: usize = 2000;

/// The most bytes of entries that are kept; the oldest go first.
const MAX_BYTES: usize = 4 << 20;

/// The entries, and the version in which each changed.
#[derive(Default)]
pub(super) struct ChatTranscript {
    version: u64,
    /// The number of entries that are gone: the number of the first that is there.
    gone: usize,
    entries: VecDeque<ChatEntry>,
    bytes: usize,
    /// The number of the first entry of the run.
    turn: usize,
    /// The number of the first entry of the reply that the model writes.
    reply: usize,
}

impl ChatTranscript {
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn touch(&mut self) {
        self.version += 1;
    }

    fn next(&self) -> usize {
        self.gone + self.entries.len()
    }

    pub(super) fn begin_turn(&mut self) {
        self.turn = self.next();
        self.reply = self.turn;
    }

    pub(super) fn begin_reply(&mut self) {
        self.reply = self.next();
    }

    pub(super) fn push(&mut self, mut entry: ChatEntry) {
        self.version += 1;
        (entry.version, entry.written) = (self.version, self.version);
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
        while self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES && self.entries.len() > 1 {
            let gone = self.entries.pop_front();
            self.bytes -= gone.map_or(0, |gone| gone.bytes());
            self.gone += 1;
        }
    }

    /// Changes the last entry from the number `from` on that is the one.
    fn change(
        &mut self,
        from: usize,
        is_one: impl Fn(&ChatEntry) -> bool,
        change: impl FnOnce(&mut ChatEntry),
    ) -> bool {
        let from = from.saturating_sub(self.gone);
        let found = self.entries.iter_mut().skip(from).rev().find(|entry| is_one(entry));
        let Some(entry) = found else { return false };
        let before = entry.bytes();
        change(entry);
        self.version += 1;
        entry.version = self.version;
        self.bytes = self.bytes + entry.bytes() - before;
        true
    }

    /// Adds to the text that the model writes. A call between two texts parts them.
    pub(super) fn write(&mut self, kind: WrittenKind, text: &str) {
        let last = self.next().saturating_sub(1).max(self.reply);
        if !self.change(last, |entry| entry.is(kind), |entry| entry.add(text)) {
            self.push(ChatEntry::text(kind.code(), text));
        }
    }

    /// Puts the texts of a whole reply in place of its pieces, where these were others: a model
    /// that does not stream wrote none, and one that was asked again wrote some twice.
    pub(super) fn take_reply(&mut self, texts: &[(WrittenKind, String)]) {
        let from = self.reply.saturating_sub(self.gone);
        for kind in [WrittenKind::Reasoning, WrittenKind::Text] {
            let whole: String =
                texts.iter().filter(|(own, _)| *own == kind).map(|(_, text)| &**text).collect();
            let own = self.entries.iter().skip(from).filter(|entry| entry.is(kind));
            let written: String = own.clone().map(|entry| &*entry.text).collect();
            let is_cut = own.clone().any(|entry| entry.omitted > 0);
            if written == whole || is_cut && whole.starts_with(&written) || whole.is_empty() {
                continue;
            }
            let mut rest = Some(whole);
            let next = self.version + 1;
            for entry in self.entries.iter_mut().skip(from).filter(|entry| entry.is(kind)) {
                self.bytes -= entry.bytes();
                (entry.text, entry.omitted) = (String::new(), 0);
                entry.add(&rest.take().unwrap_or_default());
                (entry.version, entry.written) = (next, next);
                self.bytes += entry.bytes();
            }
            self.version = next;
            if let Some(text) = rest {
                self.push(ChatEntry::text(kind.code(), &text));
            }
        }
    }

    /// Changes a call of the run, which is a new one if it is not there.
    pub(super) fn call(
        &mut self,
        (by, id, tool, within): (&str, &str, &str, &[String]),
        change: impl FnOnce(&mut ChatEntry),
    ) {
        let is_one = |entry: &ChatEntry| {
            entry.call.as_ref().is_some_and(|(own_by, own)| own_by == by && own == id)
        };
        let from = self.turn.saturating_sub(self.gone);
        if !self.entries.iter().skip(from).any(is_one) {
            self.push(ChatEntry::call(by, id, tool, within));
        }
        self.change(self.turn, is_one, |entry| {
            change(entry);
        });
        self.anew();
    }

    /// Notes that the entry that changed last was written anew.
    fn anew(&mut self) {
        let version = self.version;
        if let Some(entry) = self.entries.iter_mut().rev().find(|own| own.version == version) {
            entry.written = version;
        }
    }

    /// Returns the number of a call of the run whose whole result is not there yet.
    pub(super) fn lacks_result(&self, id: &str) -> Option<usize> {
        let from = self.turn.saturating_sub(self.gone);
        let found = self.entries.iter().enumerate().skip(from).rev().find(|(_, entry)| {
            entry.call.as_ref().is_some_and(|(by, own)| by.is_empty() && own == id)
        });
        let (at, entry) = found?;
        (entry.shown["result"]["is_whole"] != true).then_some(self.gone + at)
    }

    pub(super) fn set_result(&mut self, at: usize, result: Value) {
        let Some(index) = at.checked_sub(self.gone) else { return };
        let Some(entry) = self.entries.get_mut(index) else { return };
        self.bytes -= entry.bytes();
        self.version += 1;
        (entry.version, entry.written) = (self.version, self.version);
        let before = std::mem::replace(&mut entry.shown["result"], result);
        // The time is that of the call, which its event reported.
        if !before.is_null() {
            entry.shown["result"]["took_ms"] = before["took_ms"].clone();
        }
        self.bytes += entry.bytes();
    }

    /// Ends the calls of the run that have no end yet.
    pub(super) fn end_calls(&mut self) {
        let from = self.turn.saturating_sub(self.gone);
        self.version += 1;
        let version = self.version;
        for entry in self.entries.iter_mut().skip(from) {
            let is_open = matches!(entry.shown["state"].as_str(), Some("running" | "waiting"));
            if entry.call.is_some() && is_open {
                entry.shown["state"] = "ended".into();
                (entry.version, entry.written) = (version, version);
            }
        }
    }

    /// Returns the text of the last entry that is one of the run's answer.
    pub(super) fn last_text(&self) -> Option<&str> {
        let from = self.turn.saturating_sub(self.gone);
        let texts = self.entries.iter().skip(from).rev();
        texts.filter(|entry| entry.is(WrittenKind::Text)).map(|entry| &*entry.text).next()
    }

    /// Returns the entries that changed after a version. Of a text that only grew, and of which the
    /// page has `(number, bytes)`, it returns the rest.
    pub(super) fn since(&self, version: u64, has: Option<(usize, usize)>) -> Vec<Value> {
        let changed = self.entries.iter().enumerate().filter(|(_, own)| own.version > version);
        let shown = changed.map(|(index, entry)| {
            let at = self.gone + index;
            let rest = has.filter(|(number, _)| *number == at && entry.written <= version);
            if let Some(rest) = rest.and_then(|(_, bytes)| entry.text.get(bytes..)) {
                let bytes = entry.text.len();
                return json!({"at": at, "more": rest, "bytes": bytes, "omitted": entry.omitted});
            }
            let mut item = entry.shown.clone();
            if entry.shown.get("text").is_none() {
                item["text"] = entry.text.as_str().into();
                item["omitted"] = entry.omitted.into();
            }
            json!({"at": at, "item": item, "bytes": entry.text.len()})
        });
        shown.collect()
    }

    pub(super) fn gone(&self) -> usize {
        self.gone
    }
}
