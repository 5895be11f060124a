//! The terms of the query that is being answered, with their rarities.

use super::term::BREAK;

/// A term of a query.
#[derive(Debug, Clone, Copy)]
pub(super) struct TermMark {
    term: u32,
    pub(super) rare: f32,
    /// A bit, if it is one of the first 64 words of the query.
    pub(super) word: u64,
}

/// The terms of a query, by their number.
///
/// A table of the query alone stays in the processor's nearest cache, however many terms a catalog
/// has.
#[derive(Debug, Default)]
pub(super) struct TermMarks {
    /// A power of two of entries, at most half of them in use.
    entries: Vec<TermMark>,
    /// A bit for the last digits of each term: most terms of a tool are none of them, and are not
    /// looked for.
    hints: [u64; 16],
}

/// The entry of no term.
const FREE: TermMark = TermMark { term: BREAK, rare: 0.0, word: 0 };

impl TermMarks {
    /// Begins a query of so many terms at most.
    pub(super) fn begin(&mut self, terms: usize) {
        self.entries.clear();
        self.entries.resize((2 * terms.max(1)).next_power_of_two(), FREE);
        self.hints = [0; 16];
    }

    pub(super) fn set(&mut self, term: u32, rare: f32) {
        let (word, bit) = hint(term);
        self.hints[word] |= bit;
        let at = self.place(term);
        self.entries[at] = TermMark { term, rare, word: 0 };
    }

    #[inline]
    pub(super) fn get(&self, term: u32) -> Option<&TermMark> {
        let (word, bit) = hint(term);
        if self.hints[word] & bit == 0 || term == BREAK {
            return None;
        }
        Some(&self.entries[self.place(term)]).filter(|mark| mark.term == term)
    }

    pub(super) fn get_mut(&mut self, term: u32) -> Option<&mut TermMark> {
        let at = self.get(term).map(|_| self.place(term))?;
        self.entries.get_mut(at)
    }

    /// Returns the place of a term, or the free one where it belongs.
    #[inline]
    fn place(&self, term: u32) -> usize {
        let last = self.entries.len() - 1;
        let mut at = term as usize & last;
        while self.entries[at].term != term && self.entries[at].term != BREAK {
            at = (at + 1) & last;
        }
        at
    }
}

#[inline]
fn hint(term: u32) -> (usize, u64) {
    (term as usize / 64 % 16, 1 << (term % 64))
}
