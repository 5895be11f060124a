//! Text that lives as long as one call: unescaped strings and repaired documents.

use std::sync::OnceLock;

/// An append-only list of strings that hands out references for as long as it lives.
///
/// Adding is linear in what it already holds. That is fine for what it is for: the few strings of a call that are
/// borrowed by the tool *and* carry escapes.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    first: OnceLock<Box<Link>>,
}

#[derive(Debug)]
struct Link {
    text: Box<str>,
    next: OnceLock<Box<Link>>,
}

impl Arena {
    pub(crate) const fn new() -> Self {
        Self { first: OnceLock::new() }
    }

    /// Keeps `text` and returns a reference to it.
    pub(crate) fn keep(&self, text: String) -> &str {
        let mut text = Some(text.into_boxed_str());
        let mut slot = &self.first;
        loop {
            let link = slot.get_or_init(|| {
                Box::new(Link { text: text.take().unwrap_or_default(), next: OnceLock::new() })
            });
            if text.is_none() {
                return &link.text;
            }
            slot = &link.next;
        }
    }
}

impl Drop for Arena {
    // A chain of boxes would otherwise be dropped by recursion, as deep as the list is long.
    fn drop(&mut self) {
        let mut next = self.first.take();
        while let Some(mut link) = next {
            next = link.next.take();
        }
    }
}
