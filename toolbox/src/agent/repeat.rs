//! Notices a model that makes the same call again and again.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::call::{ToolCall, ToolResult};
use crate::text::{QUOTED, quote};

/// Counts calls of the same tool with the same arguments that came to the same result, step after
/// step.
pub(super) struct RepeatGuard {
    limit: Option<u32>,
    hasher: RandomState,
    /// The calls of the last step: how often in a row, with the hash of the result.
    last: HashMap<u64, Streak>,
}

/// A call, without its id.
pub(super) struct CallKey(u64);

#[derive(Clone, Copy, Default)]
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
        Self { limit, hasher: RandomState::new(), last: HashMap::new() }
    }

    pub(super) fn action(&self, call: &ToolCall) -> RepeatAction {
        let Some(limit) = self.limit else { return RepeatAction::Run };
        let times = self.last.get(&self.key(call).0).map_or(1, |streak| streak.times + 1);
        match times {
            times if times < limit => RepeatAction::Run,
            times if times == limit => RepeatAction::Warn(times),
            _ => RepeatAction::Stop,
        }
    }

    /// Takes note of a step: its calls as the model made them, and what they came to. A call that
    /// came to something else starts anew.
    pub(super) fn note<'a>(&mut self, step: impl Iterator<Item = (CallKey, &'a ToolResult)>) {
        if self.limit.is_none() {
            return;
        }
        let mut now = HashMap::with_capacity(self.last.len());
        for (CallKey(key), result) in step {
            let came_to = self.hasher.hash_one(&*result.text());
            let before = self.last.get(&key).copied().unwrap_or_default();
            // The refusal of a repeated call is no news.
            let warned = result.code() == Some(REPEATED);
            let again = before.times > 0 && (warned || before.result == came_to);
            let times = if again { before.times + 1 } else { 1 };
            let result = if warned { before.result } else { came_to };
            now.insert(key, Streak { times, result });
        }
        self.last = now;
    }

    /// Returns what a call has in common with the same call made again.
    pub(super) fn key(&self, call: &ToolCall) -> CallKey {
        CallKey(self.hasher.hash_one((&call.name, call.arguments.as_str().trim())))
    }
}

/// The code of the result that reports the repetition to the model.
const REPEATED: &str = "call.repeated";

/// Returns that result.
pub(super) fn repeat_warning(call: &ToolCall, times: u32) -> ToolResult {
    let text = format!(
        "not run: tool `{}` was called with these arguments {} times in a row, always with the same result; \
         use that result, or do something else",
        quote(&call.name, QUOTED),
        times - 1
    );
    ToolResult::refusal(crate::call::FailureKind::Reported, text)
        .with_code(REPEATED)
        .with_call_id(call.id.clone())
}
