//! The tools of a snapshot by name and in order, shared with the snapshots before and after it.

use std::hash::BuildHasher;
use std::sync::Arc;

use super::snapshot::ToolEntry;
use crate::trie::{self, KEY_BITS, Key, Trie};

/// An ordered map of tools by name, whose clones share what they have in common.
///
/// A change costs the logarithm of the number of tools; so does a look-up, by digits of five bits.
#[derive(Clone)]
pub(super) struct ToolTable {
    by_name: Trie<Slot, ByHash>,
    by_position: Trie<Slot, ByPosition>,
    /// The position of the next tool. One that replaces another has its position.
    next: u64,
    len: usize,
    /// The seed of the hashes.
    seed: u64,
}

/// A tool of the table.
struct Slot {
    hash: u64,
    position: u64,
    name: Box<str>,
    /// The last word of the name.
    last: u64,
    entry: ToolEntry,
    /// Another tool of the same hash: one whose name differs in case alone.
    same: Option<Arc<Slot>>,
}

/// The tools of a table, in order.
pub(crate) struct ToolEntries<'a>(trie::Iter<'a, Slot>);

impl<'a> Iterator for ToolEntries<'a> {
    type Item = &'a ToolEntry;

    fn next(&mut self) -> Option<&'a ToolEntry> {
        self.0.next().map(|own| &own.entry)
    }
}

/// A tool and its position.
type Placed = (u64, ToolEntry);

/// The hash of the name, as a key.
struct ByHash;

/// The position, as a key.
struct ByPosition;

impl Slot {
    /// Returns `true` if this is the name, whose last word is `last`: all of a short one.
    #[inline]
    fn is_named(&self, name: &str, last: u64) -> bool {
        self.last == last
            && self.name.len() == name.len()
            && (name.len() <= size_of::<u64>() || *self.name == *name)
    }
}

/// Returns the last word of a name. With the length, it distinguishes all names that fit into it.
#[inline]
fn last_word(name: &str) -> u64 {
    let bytes = name.as_bytes();
    match (bytes.last_chunk(), bytes) {
        // It may overlap the word before.
        (Some(last), _) => u64::from_ne_bytes(*last),
        // The bytes of a short name do not fill a word, and are read in overlapping parts.
        (None, [a, b, c, d, ..]) => {
            let end = bytes.last_chunk().map_or(0, |end| u32::from_ne_bytes(*end));
            u64::from(u32::from_ne_bytes([*a, *b, *c, *d])) | u64::from(end) << 32
        }
        (None, [first, ..]) => {
            let (middle, last) = (bytes[bytes.len() / 2], bytes[bytes.len() - 1]);
            u64::from(u32::from_ne_bytes([*first, middle, last, 0]))
        }
        (None, []) => 0,
    }
}

impl Key<Slot> for ByHash {
    const IS_HASH: bool = true;

    fn of(slot: &Slot) -> u64 {
        slot.hash
    }
}

impl Key<Slot> for ByPosition {
    const IS_HASH: bool = false;

    fn of(slot: &Slot) -> u64 {
        slot.position
    }
}

impl Default for ToolTable {
    fn default() -> Self {
        Self {
            by_name: Trie::default(),
            by_position: Trie::default(),
            next: 0,
            len: 0,
            seed: foldhash::fast::RandomState::default().hash_one(0),
        }
    }
}

impl ToolTable {
    /// Returns the hash of a name, whose last word is `last`; it ignores the case of ASCII letters.
    ///
    /// Of the characters that names may hold, the bit that distinguishes the cases of a letter
    /// distinguishes no others. The seed is random, so that no server can choose names of one hash.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "both halves of the product are taken")]
    fn hash(&self, name: &str, last: u64) -> u64 {
        const LOWER: u64 = u64::from_ne_bytes([b' '; 8]);
        // The fraction of the golden ratio: its bits follow no pattern.
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |hash: u64, word: u64| {
            let product = u128::from(hash ^ (word | LOWER)) * u128::from(FACTOR);
            (product as u64) ^ (product >> 64) as u64
        };
        let bytes = name.as_bytes();
        let mut hash = self.seed.wrapping_add(bytes.len() as u64);
        for word in bytes.as_chunks().0 {
            hash = mix(hash, u64::from_ne_bytes(*word));
        }
        mix(mix(hash, last), self.seed) >> (u64::BITS - KEY_BITS)
    }

    /// Returns all tools whose names have a hash.
    fn of_hash(&self, hash: u64) -> impl Iterator<Item = &Slot> {
        let first = self.by_name.get(hash).map(|first| &**first);
        std::iter::successors(first, |slot| slot.same.as_deref())
    }

    #[allow(clippy::inline_always, reason = "a call looks up one name, in one place")]
    #[inline(always)]
    pub(super) fn get(&self, name: &str) -> Option<&ToolEntry> {
        let last = last_word(name);
        let mut slot = &**self.by_name.get(self.hash(name, last))?;
        while !slot.is_named(name, last) {
            slot = slot.same.as_deref()?;
        }
        Some(&slot.entry)
    }

    /// Returns the first tool whose name differs from `name` in case at most.
    pub(super) fn get_in_any_case(&self, name: &str) -> Option<&ToolEntry> {
        self.slots_in_any_case(name).min_by_key(|own| own.position).map(|own| &own.entry)
    }

    /// Returns the tools whose names differ from `name` in case at most.
    pub(super) fn in_any_case(&self, name: &str) -> impl Iterator<Item = &ToolEntry> {
        self.slots_in_any_case(name).map(|own| &own.entry)
    }

    fn slots_in_any_case(&self, name: &str) -> impl Iterator<Item = &Slot> {
        let alike = self.of_hash(self.hash(name, last_word(name)));
        alike.filter(move |own| own.name.eq_ignore_ascii_case(name))
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns all tools, in order.
    pub(super) fn iter(&self) -> ToolEntries<'_> {
        ToolEntries(self.by_position.iter())
    }

    /// Inserts a tool at the position of its name, or at the end.
    pub(super) fn insert(&mut self, entry: ToolEntry) {
        let hash = self.hash(entry.tool.name(), last_word(entry.tool.name()));
        let (taken, mut all) = self.taken_out(hash, entry.tool.name());
        let position = taken.map_or_else(
            || {
                self.next += 1;
                self.len += 1;
                self.next - 1
            },
            |(position, _)| position,
        );
        all.push((position, entry));
        self.set(hash, all);
    }

    /// Removes the tool of a name; the others stay in their order.
    pub(super) fn remove(&mut self, name: &str) -> Option<ToolEntry> {
        let hash = self.hash(name, last_word(name));
        let (gone, others) = self.taken_out(hash, name);
        let (position, entry) = gone?;
        self.by_position.remove(position);
        self.len -= 1;
        self.set(hash, others);
        Some(entry)
    }

    /// Returns the tool of a name, and the others of its hash, with their positions.
    fn taken_out(&self, hash: u64, name: &str) -> (Option<Placed>, Vec<Placed>) {
        let mut all: Vec<Placed> =
            self.of_hash(hash).map(|own| (own.position, own.entry.clone())).collect();
        let at = all.iter().position(|(_, entry)| entry.tool.name() == name);
        (at.map(|at| all.swap_remove(at)), all)
    }

    /// Sets the tools of a hash. Each has a new slot, since a slot refers to the next.
    fn set(&mut self, hash: u64, tools: Vec<Placed>) {
        let mut first = None;
        for (position, entry) in tools {
            let name: Box<str> = entry.tool.name().into();
            let last = last_word(&name);
            let slot = Arc::new(Slot { hash, position, name, last, entry, same: first });
            self.by_position.insert(Arc::clone(&slot));
            first = Some(slot);
        }
        match first {
            Some(first) => self.by_name.insert(first),
            None => self.by_name.remove(hash),
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self { seed: self.seed, ..Self::default() };
    }
}
