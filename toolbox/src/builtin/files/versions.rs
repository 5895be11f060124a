//! The files that a conversation has read or written, with their versions at that time.

use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use crate::context::{Conversation, Principal, Taint, ToolContext};
use crate::sync::Mutex;

/// The number of files that are remembered.
const REMEMBERED: usize = 8192;

/// The version of a file: a hash of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version(u64);

/// The versions of files that each conversation knows.
#[derive(Debug, Default)]
pub(super) struct Versions {
    keys: RandomState,
    known: Mutex<IndexMap<(FileReader, PathBuf), Version>>,
}

/// The conversation that a file was read in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct FileReader {
    principal: Principal,
    conversation: Option<Conversation>,
    /// The address of a value of the agent's run, where the program names no conversation.
    run: usize,
}

impl FileReader {
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

    /// Records the version of a file that a conversation knows.
    pub(super) fn learn(&self, reader: FileReader, path: &Path, version: Version) {
        let mut known = self.known.lock();
        if known.len() >= REMEMBERED {
            // Half of them at once, since each removal moves the others.
            known.drain(..REMEMBERED / 2);
        }
        let key = (reader, path.to_owned());
        known.shift_remove(&key);
        known.insert(key, version);
    }

    /// Returns the version of a file that a conversation knows.
    pub(super) fn known(&self, reader: FileReader, path: &Path) -> Option<Version> {
        let known = self.known.lock();
        known.get(&(reader, path.to_owned())).copied()
    }
}
