//! The pages of a list of a server: where it ends, whatever cursors the server gives.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::value::RawValue;

/// The way through the pages of a list.
#[derive(Debug, Default)]
pub(super) struct PageWalk {
    cursors: HashSet<String>,
    /// The hashes of the pages.
    pages: HashSet<u64>,
}

/// What follows a page.
#[derive(Debug)]
pub(super) enum NextPage {
    At(String),
    End,
    /// The server gives a cursor again, with more items than before.
    Repeats,
}

impl PageWalk {
    /// Notes the items of a page, and returns `false` if it is one that was read before.
    pub(super) fn enter(&mut self, items: &[&RawValue]) -> bool {
        let mut hasher = DefaultHasher::new();
        for item in items {
            item.get().hash(&mut hasher);
        }
        self.pages.insert(hasher.finish()) || items.is_empty()
    }

    /// Returns what follows a page with a cursor.
    pub(super) fn next(&mut self, cursor: Option<String>) -> NextPage {
        let Some(cursor) = cursor else { return NextPage::End };
        let is_empty = cursor.is_empty();
        match self.cursors.insert(cursor.clone()) {
            true => NextPage::At(cursor),
            // Older servers mean the end.
            false if is_empty => NextPage::End,
            false => NextPage::Repeats,
        }
    }
}
