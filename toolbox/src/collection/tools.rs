//! The tools of a snapshot by name and in order, shared with the snapshots before and after it.

use std::hash::{BuildHasher, Hasher};
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
    hasher: foldhash::fast::RandomState,
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
            hasher: foldhash::fast::RandomState::default(),
        }
    }
}

impl ToolTable {
    /// Returns a hash that ignores the case of ASCII letters.
    ///
    /// Of the characters that names may hold, the bit that distinguishes the cases of a letter
    /// distinguishes no others.
    #[inline]
    fn hash(&self, name: &str) -> u64 {
        const LOWER: u64 = u64::from_ne_bytes([b' '; 8]);
        let mut hasher = self.hasher.build_hasher();
        let (words, rest) = name.as_bytes().as_chunks::<8>();
        for word in words {
            hasher.write_u64(u64::from_ne_bytes(*word) | LOWER);
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The length tells names apart that differ in trailing zeros.
        hasher.write_u64((u64::from_ne_bytes(last) | LOWER) ^ ((name.len() as u64) << 56));
        hasher.finish()
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
        *self = Self { hasher: self.hasher.clone(), ..Self::default() };
    }
}
