//! The pages of a list of a server: where it ends, whatever cursors the server gives.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::value::RawValue;

/// The way through the pages of a list.
#[derive(Debug, Default)]
pub(super) struct PageWalk {
    /// The cursor of the page that comes next; none for the first.
    cursor: Option<String>,
    /// The cursors so far.
    cursors: HashSet<String>,
    /// The hashes of the pages so far.
    pages: HashSet<u64>,
}

/// What follows a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextPage {
    Another,
    End,
    /// The server repeats itself, and may have more.
    Repeats,
}

impl PageWalk {
    /// Returns the cursor of the page to request.
    pub(super) fn cursor(&self) -> Option<String> {
        self.cursor.clone()
    }

    /// Returns `true` if a server that refuses the page has no more: an empty cursor is one, but
    /// older servers mean the end by it.
    pub(super) fn may_be_over(&self) -> bool {
        self.cursor.as_deref() == Some("")
    }

    /// Notes the items of a page, and returns `false` if it is one that was read before.
    pub(super) fn enter(&mut self, items: &[&RawValue]) -> bool {
        let mut hasher = DefaultHasher::new();
        for item in items {
            item.get().hash(&mut hasher);
        }
        self.pages.insert(hasher.finish()) || items.is_empty()
    }

    /// Goes on by the cursor of a page that was or was not read before.
    pub(super) fn next(&mut self, cursor: Option<String>, is_new: bool) -> NextPage {
        let Some(cursor) = cursor else { return NextPage::End };
        let is_known = self.cursors.contains(&cursor);
        match (is_new, is_known) {
            (true, false) => {
                self.cursors.insert(cursor.clone());
                self.cursor = Some(cursor);
                NextPage::Another
            }
            (false, true) => NextPage::End,
            _ if cursor.is_empty() => NextPage::End,
            _ => NextPage::Repeats,
        }
    }
}
