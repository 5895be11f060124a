//! The line breaks of a long text, counted once.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// The bytes of a block.
pub(super) const BLOCK: usize = 1 << 16;

/// The numbers of line breaks before each block of one text, counted when they are first asked for.
#[derive(Clone, Default)]
pub(super) struct LineIndex(OnceLock<Arc<[usize]>>);

impl LineIndex {
    /// Returns the number of line breaks before a byte of the text, which is always the same one.
    pub(super) fn breaks_before(&self, text: &str, at: usize) -> usize {
        let text = text.as_bytes();
        let blocks = self.0.get_or_init(|| {
            let before = text.chunks(BLOCK).scan(0, |breaks, block| {
                let before = *breaks;
                *breaks += breaks_in(block);
                Some(before)
            });
            before.collect()
        });
        let block = (at / BLOCK).min(blocks.len().saturating_sub(1));
        blocks.get(block).copied().unwrap_or_default() + breaks_in(&text[block * BLOCK..at])
    }
}

/// Returns the number of line breaks.
pub(super) fn breaks_in(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

/// Two indexes are equal: what they counted follows from their texts.
impl PartialEq for LineIndex {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for LineIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineIndex").finish_non_exhaustive()
    }
}
