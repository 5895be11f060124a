//! Storage for the duration of one call: text that is neither in the call nor in the tool, and
//! notes on repairs.

use std::sync::OnceLock;

use crate::call::Repair;

/// An append-only list of strings that hands out references for as long as it lives, and the notes
/// of one call.
///
/// Adding is linear in what it already holds. That is fine for its contents: the few strings of a
/// call that the tool borrows *and* that have escapes, and repaired documents.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    kept: OnceLock<Box<ArenaContents>>,
}

#[derive(Debug, Default)]
struct ArenaContents {
    repairs: OnceLock<Vec<Repair>>,
    first: OnceLock<Box<ArenaString>>,
}

#[derive(Debug)]
struct ArenaString {
    text: Box<str>,
    next: OnceLock<Box<ArenaString>>,
}

impl Arena {
    pub(crate) const fn new() -> Self {
        Self { kept: OnceLock::new() }
    }

    /// Keeps `text` and returns a reference to it.
    pub(crate) fn keep(&self, text: String) -> &str {
        let mut text = Some(text.into_boxed_str());
        let mut slot = &self.kept.get_or_init(Box::default).first;
        loop {
            let link = slot.get_or_init(|| {
                Box::new(ArenaString {
                    text: text.take().unwrap_or_default(),
                    next: OnceLock::new(),
                })
            });
            if text.is_none() {
                return &link.text;
            }
            slot = &link.next;
        }
    }

    /// Records the repairs, unless there are some already.
    pub(crate) fn note(&self, repairs: Vec<Repair>) {
        let _ = self.kept.get_or_init(Box::default).repairs.set(repairs);
    }

    /// Returns the recorded repairs.
    #[allow(clippy::inline_always, reason = "most calls have none, and need no call to know that")]
    #[inline(always)]
    pub(crate) fn into_repairs(self) -> Option<Vec<Repair>> {
        self.kept.into_inner()?.repairs.take()
    }
}

impl Drop for ArenaContents {
    // A chain of boxes would otherwise be dropped by recursion, as deep as the list is long.
    fn drop(&mut self) {
        let mut next = self.first.take();
        while let Some(mut link) = next {
            next = link.next.take();
        }
    }
}
