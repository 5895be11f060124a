//! The tools of a snapshot by name and in order, shared with the snapshots before and after it.

use std::hash::BuildHasher;
use std::sync::Arc;

use super::snapshot::ToolEntry;
use super::trie::{Keyed, Trie};

/// An ordered map of tools by name, whose clones share what they have in common.
///
/// A change costs the logarithm of the number of tools; so does a look-up, by digits of four bits.
#[derive(Clone)]
pub(super) struct ToolTable {
    by_name: Trie<Named>,
    by_position: Trie<Positioned>,
    /// The position of the next tool. One that replaces another has its position.
    next: u64,
    len: usize,
    /// The seed of the hashes.
    seed: u64,
}

/// A tool at its position.
struct Positioned {
    position: u64,
    name: Box<str>,
    entry: ToolEntry,
}

/// A tool by the hash of its name, which those have in common whose names differ in case alone.
struct Named {
    hash: u64,
    tool: Arc<Positioned>,
    same: Option<Arc<Named>>,
}

impl Keyed for Positioned {
    fn key(&self) -> u64 {
        self.position
    }
}

impl Keyed for Named {
    fn key(&self) -> u64 {
        self.hash
    }
}

impl Named {
    /// Returns all tools of one hash.
    fn all(self: &Arc<Self>) -> impl Iterator<Item = &Arc<Positioned>> {
        std::iter::successors(Some(self), |named| named.same.as_ref()).map(|named| &named.tool)
    }
}

impl Default for ToolTable {
    fn default() -> Self {
        Self {
            by_name: Trie::of_hashes(),
            by_position: Trie::default(),
            next: 0,
            len: 0,
            seed: foldhash::fast::RandomState::default().hash_one(0),
        }
    }
}

impl ToolTable {
    /// Returns a hash that ignores the case of ASCII letters.
    ///
    /// Of the characters that names may hold, the bit that distinguishes the cases of a letter
    /// distinguishes no others. The seed is random, so that no server can choose names of one hash.
    #[inline]
    fn hash(&self, name: &str) -> u64 {
        const LOWER: u64 = u64::from_ne_bytes([b' '; 8]);
        // The fraction of the golden ratio: its bits follow no pattern.
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |hash: u64, word: u64| {
            let product = u128::from(hash ^ (word | LOWER)) * u128::from(FACTOR);
            (product as u64) ^ (product >> 64) as u64
        };
        let bytes = name.as_bytes();
        let (words, rest) = bytes.as_chunks::<8>();
        let hash = self.seed.wrapping_add(bytes.len() as u64);
        let hash = words.iter().fold(hash, |hash, word| mix(hash, u64::from_ne_bytes(*word)));
        // The last word of a name may overlap the one before; the bytes of a short one do not fill
        // a word, and are read in two overlapping parts.
        let last = match (bytes.last_chunk(), rest) {
            (Some(last), _) => u64::from_ne_bytes(*last),
            (None, [a, b, c, d, ..]) => {
                let end = rest.last_chunk().map_or(0, |end| u32::from_ne_bytes(*end));
                u64::from(u32::from_ne_bytes([*a, *b, *c, *d])) | u64::from(end) << 32
            }
            (None, [first, ..]) => {
                let (middle, last) = (rest[rest.len() / 2], rest[rest.len() - 1]);
                u64::from(u32::from_ne_bytes([*first, middle, last, 0]))
            }
            (None, []) => 0,
        };
        mix(mix(hash, last), self.seed)
    }

    /// Returns all tools whose names have the hash of `name`.
    fn of_hash(&self, hash: u64) -> impl Iterator<Item = &Arc<Positioned>> {
        self.by_name.get(hash).into_iter().flat_map(Named::all)
    }

    #[inline]
    pub(super) fn get(&self, name: &str) -> Option<&ToolEntry> {
        let mut named = &**self.by_name.get(self.hash(name))?;
        while *named.tool.name != *name {
            named = named.same.as_deref()?;
        }
        Some(&named.tool.entry)
    }

    /// Returns the first tool whose name differs from `name` in case at most.
    pub(super) fn get_in_any_case(&self, name: &str) -> Option<&ToolEntry> {
        let alike = self.of_hash(self.hash(name)).filter(|own| own.name.eq_ignore_ascii_case(name));
        alike.min_by_key(|own| own.position).map(|own| &own.entry)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns all tools, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &ToolEntry> {
        self.by_position.iter().map(|own| &own.entry)
    }

    /// Inserts a tool at the position of its name, or at the end.
    pub(super) fn insert(&mut self, entry: ToolEntry) {
        let name = entry.tool.name();
        let hash = self.hash(name);
        let mut others: Vec<Arc<Positioned>> = self.of_hash(hash).cloned().collect();
        let taken = others.iter().position(|own| *own.name == *name);
        let position = match taken {
            Some(at) => others.swap_remove(at).position,
            None => {
                self.next += 1;
                self.len += 1;
                self.next - 1
            }
        };
        let tool = Arc::new(Positioned { position, name: name.into(), entry });
        self.by_position.insert(Arc::clone(&tool));
        others.push(tool);
        self.set(hash, others);
    }

    /// Removes the tool of a name; the others stay in their order.
    pub(super) fn remove(&mut self, name: &str) -> Option<ToolEntry> {
        let hash = self.hash(name);
        let mut others: Vec<Arc<Positioned>> = self.of_hash(hash).cloned().collect();
        let at = others.iter().position(|own| *own.name == *name)?;
        let gone = others.swap_remove(at);
        self.by_position.remove(gone.position);
        self.set(hash, others);
        self.len -= 1;
        Some(gone.entry.clone())
    }

    /// Sets the tools whose names have one hash.
    fn set(&mut self, hash: u64, tools: Vec<Arc<Positioned>>) {
        let chain = |same, tool| Some(Arc::new(Named { hash, tool, same }));
        match tools.into_iter().fold(None, chain) {
            Some(first) => self.by_name.insert(first),
            None => self.by_name.remove(hash),
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self { seed: self.seed, ..Self::default() };
    }
}
