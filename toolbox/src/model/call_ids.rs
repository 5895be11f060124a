//! The ids of calls: unique in a transcript, and of a form that services accept.

use std::collections::HashSet;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use super::history::{History, HistoryRepair, Message, calls_mut};
use super::reply::Reply;

/// The length of an id that every service accepts: Mistral takes no other.
const LENGTH: usize = 9;

impl History {
    /// Returns the ids of all calls so far.
    pub(super) fn ids(&self) -> HashSet<String> {
        let mut ids = HashSet::new();
        for step in self.steps() {
            ids.extend(step.reply.tool_calls().map(|call| call.id.clone()));
        }
        ids
    }

    /// Returns the transcript with ids of exactly nine letters and digits. Those of a transcript
    /// that goes on stay what they were.
    #[allow(dead_code, reason = "for Mistral")]
    pub(crate) fn with_short_call_ids(mut self) -> Self {
        let mut taken = HashSet::new();
        self.known_ids = KnownIds::default();
        for message in &mut self.messages {
            let Message::Step(step) = message else { continue };
            let is_kept = |id: &str| is_short(id) && !taken.contains(id);
            if step.reply.tool_calls().all(|call| is_kept(&call.id)) {
                taken.extend(step.reply.tool_calls().map(|call| call.id.clone()));
                continue;
            }
            let step = Arc::make_mut(step);
            rename_unfit(&mut step.reply, is_short, &mut taken, &mut Vec::new());
            for (call, result) in step.reply.tool_calls().zip(&mut step.results) {
                result.call_id.clone_from(&call.id);
            }
        }
        self
    }
}

/// The ids of calls that a transcript has. Once messages are taken out, or have other ids, the
/// transcript begins a new one.
#[derive(Clone, Default)]
pub(super) struct KnownIds(Option<Box<IdHashes>>);

#[derive(Clone, Default)]
struct IdHashes {
    hashes: HashSet<u64>,
    /// The number of messages whose calls are among them.
    messages: usize,
}

impl KnownIds {
    /// Adds the ids of messages that came since the last time.
    pub(super) fn follow(&mut self, messages: &[Message]) {
        let known = self.0.get_or_insert_default();
        for message in &messages[known.messages.min(messages.len())..] {
            let Message::Step(step) = message else { continue };
            let hasher = known.hashes.hasher().clone();
            known.hashes.extend(step.reply.tool_calls().map(|call| hasher.hash_one(&call.id)));
        }
        known.messages = messages.len();
    }

    /// Returns `false` if no call has the id.
    pub(super) fn may_have(&self, id: &str) -> bool {
        let has =
            |IdHashes { hashes, .. }: &IdHashes| hashes.contains(&hashes.hasher().hash_one(id));
        self.0.as_deref().is_none_or(has)
    }
}

/// Gives a new id to each call whose own is taken, or not accepted by services.
pub(super) fn rename_calls(
    reply: &mut Reply,
    taken: &mut HashSet<String>,
    repairs: &mut Vec<HistoryRepair>,
) {
    rename_unfit(reply, is_good_id, taken, repairs);
}

/// Gives a new id to each call whose own is taken, or does not fit.
fn rename_unfit(
    reply: &mut Reply,
    fits: fn(&str) -> bool,
    taken: &mut HashSet<String>,
    repairs: &mut Vec<HistoryRepair>,
) {
    for call in calls_mut(reply) {
        if !fits(&call.id) || taken.contains(&call.id) {
            let own = new_id(&call.id, taken);
            let from = std::mem::replace(&mut call.id, own);
            repairs.push(HistoryRepair::RenamedCall { from, to: call.id.clone() });
        }
        taken.insert(call.id.clone());
    }
}

/// Returns `true` if an id can be sent as it is to any service but Mistral.
pub(super) fn is_good_id(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Returns `true` if Mistral accepts an id.
#[allow(dead_code, reason = "for Mistral")]
fn is_short(id: &str) -> bool {
    id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns an id that is not taken and that every service accepts: the letters and digits that
/// `id` begins with, and a number.
fn new_id(id: &str, taken: &HashSet<String>) -> String {
    // One more candidate than taken ids, so one is free.
    (taken.len()..=2 * taken.len() + 1)
        .map(|count| {
            let digits = count.to_string();
            let room = LENGTH.saturating_sub(digits.len());
            let mut own: String =
                id.chars().filter(char::is_ascii_alphanumeric).take(room).collect();
            if own.is_empty() {
                own.push_str(&"call"[..room.min(4)]);
            }
            format!("{own}{digits:0>width$}", width = LENGTH.saturating_sub(own.len()))
        })
        .find(|own| !taken.contains(own))
        .unwrap_or_default()
}
