//! The postings of all tools: for each term, the tools that hold it and its weight in each.
//!
//! Tools in a row of slots form a block, and each block has lists of its own. A posting says where
//! in its block a tool is, which takes few bits, and a change moves only what is behind it in the
//! lists of one block, however large the catalog is.

use super::compact::Few;

/// The number of tools in a block.
pub(super) const BLOCK: usize = 1 << PLACE_BITS;

const PLACE_BITS: u32 = 14;

/// The first count that is not in the posting itself.
pub(super) const SEVERAL: u16 = 3;

/// A term in a tool, in 32 bits: the place of the tool in its block, the count up to [`SEVERAL`]
/// and the weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Posting(u32);

impl Posting {
    /// Puts a term in a tool together: `impact` is its weight over all fields, scaled such that
    /// 65 535 is the maximum, `count` its number of occurrences.
    #[inline]
    pub(super) fn new(slot: u32, impact: u16, count: u16) -> Self {
        let place = slot % (1 << PLACE_BITS);
        Self(place << 18 | u32::from(count.min(SEVERAL)) << 16 | u32::from(impact))
    }

    /// Returns the place of the tool in its block, which is less than [`BLOCK`].
    #[inline]
    pub(super) fn place(self) -> usize {
        self.0 as usize >> 18
    }

    /// Returns the weight of the term in the tool.
    #[inline]
    pub(super) fn impact(self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "these are 16 bits")]
        let impact = (self.0 & 0xFFFF) as f32;
        impact
    }

    /// Returns the number of occurrences in the tool, or [`SEVERAL`] if there are as many or more.
    pub(super) fn count(self) -> u16 {
        (self.0 >> 16 & 3) as u16
    }
}

/// The lists of all blocks.
#[derive(Debug, Default)]
pub(super) struct PostingLists {
    /// By block and term; each list is in the order of its tools.
    blocks: Vec<Vec<Few<Posting>>>,
}

impl PostingLists {
    /// Returns the postings of a term in one block.
    #[inline]
    pub(super) fn block(&self, block: usize, term: u32) -> &[Posting] {
        let list = self.blocks.get(block).and_then(|lists| lists.get(term as usize));
        list.map_or(&[], Few::as_slice)
    }

    /// Returns the postings of a term with the slots of their tools.
    pub(super) fn of(&self, term: u32) -> impl Iterator<Item = (usize, Posting)> + Clone {
        (0..self.blocks.len()).flat_map(move |block| {
            let list = self.block(block, term).iter();
            list.map(move |&posting| (block * BLOCK + posting.place(), posting))
        })
    }

    /// Returns the posting of a term in one tool.
    pub(super) fn find(&self, term: u32, slot: u32) -> Option<Posting> {
        let list = self.block(slot as usize / BLOCK, term);
        let place = Posting::new(slot, 0, 0).place();
        list.binary_search_by_key(&place, |posting| posting.place()).ok().map(|at| list[at])
    }

    /// Adds a posting of a tool that has none for the term; most tools come last.
    #[inline]
    pub(super) fn insert(&mut self, term: u32, slot: u32, posting: Posting) {
        let (block, term) = (slot as usize / BLOCK, term as usize);
        if self.blocks.len() <= block {
            self.blocks.resize_with(block + 1, Vec::new);
        }
        let lists = &mut self.blocks[block];
        if lists.len() <= term {
            lists.resize_with(term + 1, Few::default);
        }
        let list = &mut lists[term];
        if list.as_slice().last().is_some_and(|last| last.place() > posting.place()) {
            let at = list.as_slice().partition_point(|other| other.place() < posting.place());
            list.edit(|list| list.insert(at, posting));
        } else {
            list.push(posting);
        }
    }

    /// Removes the posting of a tool, and returns `true` if there was one.
    pub(super) fn remove(&mut self, term: u32, slot: u32) -> bool {
        let lists = self.blocks.get_mut(slot as usize / BLOCK);
        let Some(list) = lists.and_then(|lists| lists.get_mut(term as usize)) else { return false };
        let place = Posting::new(slot, 0, 0).place();
        let found = list.as_slice().binary_search_by_key(&place, |posting| posting.place());
        if let Ok(at) = found {
            list.edit(|list| {
                list.remove(at);
            });
        }
        found.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{BLOCK, Posting, PostingLists, SEVERAL};

    #[test]
    fn lists_hold_what_was_put_into_them_in_any_block_and_order() {
        let (mut lists, mut expected) = (PostingLists::default(), BTreeMap::new());
        let mut state = 1_u64;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            u32::try_from(state >> 33).expect("31 bits") % below
        };
        let block = u32::try_from(BLOCK).expect("a small number");
        for step in 0..20_000 {
            // A few tools at the borders of blocks, which are put and removed again and again, and
            // many others.
            let slot = if step % 2 == 0 { random(6) * block + random(3) } else { random(90_000) };
            let slot = slot.saturating_sub(1);
            let term = random(4) * 100;
            if expected.remove(&(term, slot)).is_some() {
                assert!(lists.remove(term, slot));
            } else {
                assert!(!lists.remove(term, slot) && lists.find(term, slot).is_none());
                let impact = u16::try_from(random(65_536)).expect("16 bits");
                let count = u16::try_from(random(6)).expect("16 bits");
                lists.insert(term, slot, Posting::new(slot, impact, count));
                expected.insert((term, slot), (f32::from(impact), count.min(SEVERAL)));
            }
        }
        let read = |posting: Posting| (posting.impact(), posting.count());
        for term in (0..400).step_by(100) {
            let found: Vec<_> =
                lists.of(term).map(|(slot, posting)| (slot, read(posting))).collect();
            let own = expected.range((term, 0)..(term + 1, 0));
            let own: Vec<_> = own.map(|(key, &value)| (key.1 as usize, value)).collect();
            assert!(own.iter().any(|&(slot, _)| slot > 5 * BLOCK));
            assert_eq!(found, own, "{term}");
        }
        for (&(term, slot), &value) in &expected {
            assert_eq!(lists.find(term, slot).map(read), Some(value));
        }
    }
}
