//! The files that a conversation has read or written, as they were then.

use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use indexmap::IndexMap;

use crate::context::{Conversation, Principal, Taint, ToolContext};

/// The number of files that are remembered.
const REMEMBERED: usize = 8192;

/// The content of a file, as a number that differs where the content does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version(u64);

/// The versions of files that readers know.
#[derive(Debug, Default)]
pub(super) struct Versions {
    keys: RandomState,
    known: Mutex<IndexMap<(Reader, PathBuf), Version>>,
}

/// A conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Reader {
    principal: Principal,
    conversation: Option<Conversation>,
    /// The address of what an agent's run has of its own, where the program names no conversation.
    run: usize,
}

impl Reader {
    pub(super) fn of(context: &ToolContext) -> Self {
        let conversation = context.get::<Conversation>().cloned();
        let run = match &conversation {
            Some(_) => 0,
            None => context.get::<Taint>().map_or(0, |taint| std::ptr::from_ref(taint).addr()),
        };
        Self { principal: Principal::of(context), conversation, run }
    }
}

impl Versions {
    /// Returns the version of a content.
    pub(super) fn of(&self, content: &[u8]) -> Version {
        Version(self.keys.hash_one(content))
    }

    /// Remembers what a reader knows a file to hold.
    pub(super) fn learn(&self, reader: Reader, path: &Path, version: Version) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            // Half at once, since each removal moves the others.
            known.drain(..REMEMBERED / 2);
        }
        let key = (reader, path.to_owned());
        known.shift_remove(&key);
        known.insert(key, version);
    }

    /// Returns what a reader knows a file to hold.
    pub(super) fn known(&self, reader: Reader, path: &Path) -> Option<Version> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(reader, path.to_owned())).copied()
    }
}
