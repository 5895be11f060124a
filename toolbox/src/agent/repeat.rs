//! Notices a model that makes the same calls again and again.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::call::{FailureKind, ToolCall, ToolResult};
use crate::text::{QUOTED, quote, without_marks};
use crate::validate;

/// Counts calls of the same tool with equal arguments that came to the same result: step after
/// step, or in turns with others that the model has made before, too.
pub(super) struct RepeatGuard {
    limit: Option<u32>,
    hasher: RandomState,
    /// The calls so far: how often each came to the same since a step without it had a new call,
    /// with the hash of that result.
    seen: HashMap<u64, Streak>,
}

/// A call, without its id.
pub(super) struct CallKey(u64);

#[derive(Clone, Copy)]
struct Streak {
    times: u32,
    result: u64,
}

/// The decision on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RepeatAction {
    Run,
    /// Tell the model that it repeats itself, this many times now.
    Warn(u32),
    Stop,
}

impl RepeatGuard {
    pub(super) fn new(limit: Option<u32>) -> Self {
        Self { limit, hasher: RandomState::default(), seen: HashMap::new() }
    }

    /// Returns the number of times from which on something is a repetition.
    pub(super) fn limit(&self) -> Option<u32> {
        self.limit
    }

    pub(super) fn action(&self, call: &ToolCall) -> RepeatAction {
        let Some(limit) = self.limit else { return RepeatAction::Run };
        // Arguments are read only where a call can be at its limit.
        if self.seen.values().all(|streak| streak.times + 1 < limit) {
            return RepeatAction::Run;
        }
        let times = self.seen.get(&self.key(call).0).map_or(1, |streak| streak.times + 1);
        match times {
            times if times < limit => RepeatAction::Run,
            times if times == limit => RepeatAction::Warn(times),
            _ => RepeatAction::Stop,
        }
    }

    /// Takes note of a step: its calls as the model made them, and what they came to. A call that
    /// came to something else starts anew, and one that is new has all begin anew that are not made
    /// beside it.
    pub(super) fn note<'a>(&mut self, step: impl Iterator<Item = (CallKey, &'a ToolResult)>) {
        if self.limit.is_none() {
            return;
        }
        let mut now = HashMap::new();
        let mut has_new = false;
        for (CallKey(key), result) in step {
            // The text names the tool as it was called, with other marks each time.
            let text = match result.failure_kind() {
                Some(FailureKind::NotFound) => Cow::Borrowed("not found"),
                _ => result.text(),
            };
            let came_to = self.hasher.hash_one(&*text);
            // The refusal of a repeated call is no news.
            let warned = result.code() == Some(REPEATED);
            let before = self.seen.get(&key).filter(|before| warned || before.result == came_to);
            has_new |= before.is_none();
            let streak = before.map_or(Streak { times: 1, result: came_to }, |before| Streak {
                times: before.times + 1,
                result: before.result,
            });
            now.insert(key, streak);
        }
        if has_new {
            self.seen.values_mut().for_each(|streak| streak.times = 0);
        }
        self.seen.extend(now);
    }

    /// Returns what a call has in common with the same call made again.
    pub(super) fn key(&self, call: &ToolCall) -> CallKey {
        if self.limit.is_none() {
            return CallKey(0);
        }
        let text = call.arguments.as_str().trim();
        let value = validate::hash(text, &self.hasher);
        let as_written = value.is_none().then_some(text);
        CallKey(self.hasher.hash_one((without_marks(&call.name), value, as_written)))
    }
}

/// The code of the result that reports the repetition to the model.
const REPEATED: &str = "call.repeated";

/// Returns that result.
pub(super) fn repeat_warning(call: &ToolCall, times: u32) -> ToolResult {
    let text = format!(
        "not run: tool `{}` was called with these arguments {} times, always with the same result; \
         use that result, or do something else",
        quote(&call.name, QUOTED),
        times - 1
    );
    ToolResult::refusal(FailureKind::Reported, text)
        .with_code(REPEATED)
        .with_call_id(call.id.clone())
}
