//! A persistent map from numbers to shared values: a clone costs a reference count, and a changed
//! clone shares all but the path to what changed.

use std::marker::PhantomData;
use std::sync::Arc;

/// The bits of a key that choose a child.
const DIGIT: u32 = 5;
/// The children of a branch.
const WIDTH: usize = 1 << DIGIT;
/// The digits of the longest key.
const MOST_DIGITS: u32 = u64::BITS / DIGIT;
/// The bits of the longest key.
pub(crate) const KEY_BITS: u32 = MOST_DIGITS * DIGIT;

/// The choice of the number in a value that is its key.
pub(crate) trait Key<T> {
    /// `true` if keys differ in their first digits, as hashes do; `false` if they count up from 0.
    const IS_HASH: bool;

    /// Returns the key, of [`KEY_BITS`] at most, which is the same for as long as the value is in a
    /// map.
    fn of(value: &T) -> u64;
}

/// A persistent map, which iterates in the order of its keys.
///
/// The path to a value is as long as the digits by which its key differs from those of others.
#[derive(Debug)]
pub(crate) struct Trie<T, K> {
    root: TrieNode<T>,
    /// The number of digits of the keys, which grows with them.
    digits: u32,
    key: PhantomData<fn() -> K>,
}

#[derive(Debug)]
enum TrieNode<T> {
    Empty,
    Leaf(Arc<T>),
    Branch(Arc<[TrieNode<T>; WIDTH]>),
}

impl<T, K: Key<T>> Default for Trie<T, K> {
    fn default() -> Self {
        let digits = if K::IS_HASH { MOST_DIGITS } else { 1 };
        Self { root: TrieNode::Empty, digits, key: PhantomData }
    }
}

impl<T, K> Clone for Trie<T, K> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), ..*self }
    }
}

impl<T> Clone for TrieNode<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Empty => Self::Empty,
            Self::Leaf(value) => Self::Leaf(Arc::clone(value)),
            Self::Branch(children) => Self::Branch(Arc::clone(children)),
        }
    }
}

/// Returns the index of a child: the digit of a key with `below` digits behind it.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "only the last bits count")]
fn digit(key: u64, below: u32) -> usize {
    (key >> (below * DIGIT)) as usize & (WIDTH - 1)
}

impl<T, K: Key<T>> Trie<T, K> {
    /// Returns the value of a key.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<&Arc<T>> {
        // The digits that are left of the key, the next one foremost.
        let digits = if K::IS_HASH { MOST_DIGITS } else { self.digits };
        let (mut node, mut path) = (&self.root, key << (u64::BITS - digits * DIGIT));
        loop {
            match node {
                TrieNode::Branch(children) => {
                    path = path.rotate_left(DIGIT);
                    node = &children[digit(path, 0)];
                }
                TrieNode::Leaf(value) => return (K::of(value) == key).then_some(value),
                TrieNode::Empty => return None,
            }
        }
    }

    /// Inserts a value in place of that of the same key.
    pub(crate) fn insert(&mut self, value: Arc<T>) {
        debug_assert!(K::of(&value) >> KEY_BITS == 0, "a key of {KEY_BITS} bits");
        while self.digits < MOST_DIGITS && K::of(&value) >> (self.digits * DIGIT) != 0 {
            self.root = match std::mem::replace(&mut self.root, TrieNode::Empty) {
                // The key of a leaf says where it belongs.
                root @ (TrieNode::Empty | TrieNode::Leaf(_)) => root,
                root @ TrieNode::Branch(_) => TrieNode::branch([(0, root)]),
            };
            self.digits += 1;
        }
        self.root.insert::<K>(value, self.digits);
    }

    /// Removes the value of a key.
    pub(crate) fn remove(&mut self, key: u64) {
        self.root.remove::<K>(key, self.digits);
    }

    /// Returns the values in the order of their keys.
    pub(crate) fn iter(&self) -> Iter<'_, T> {
        Iter { ahead: vec![std::slice::from_ref(&self.root).iter()] }
    }
}

impl<T> TrieNode<T> {
    fn branch<const N: usize>(children: [(usize, Self); N]) -> Self {
        let mut nodes = [const { Self::Empty }; WIDTH];
        for (at, child) in children {
            nodes[at] = child;
        }
        Self::Branch(Arc::new(nodes))
    }
}

impl<T> TrieNode<T> {
    fn insert<K: Key<T>>(&mut self, value: Arc<T>, digits: u32) {
        match self {
            Self::Empty => *self = Self::Leaf(value),
            Self::Leaf(own) if K::of(own) == K::of(&value) => *own = value,
            Self::Leaf(own) => {
                let at = digit(K::of(own), digits - 1);
                let own = Self::Leaf(Arc::clone(own));
                *self = Self::branch([(at, own)]);
                self.insert::<K>(value, digits);
            }
            Self::Branch(children) => {
                let at = digit(K::of(&value), digits - 1);
                Arc::make_mut(children)[at].insert::<K>(value, digits - 1);
            }
        }
    }

    fn remove<K: Key<T>>(&mut self, key: u64, digits: u32) {
        match self {
            Self::Leaf(own) if K::of(own) == key => *self = Self::Empty,
            Self::Branch(children) => {
                let children = Arc::make_mut(children);
                children[digit(key, digits - 1)].remove::<K>(key, digits - 1);
                let mut rest = children.iter().filter(|child| !matches!(child, Self::Empty));
                match (rest.next(), rest.next()) {
                    (None, _) => *self = Self::Empty,
                    // One that is alone needs no branch above it.
                    (Some(Self::Leaf(last)), None) => *self = Self::Leaf(Arc::clone(last)),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// The values of a [`Trie`] in the order of their keys.
pub(crate) struct Iter<'a, T> {
    ahead: Vec<std::slice::Iter<'a, TrieNode<T>>>,
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a Arc<T>;

    fn next(&mut self) -> Option<&'a Arc<T>> {
        loop {
            match self.ahead.last_mut()?.next() {
                None => drop(self.ahead.pop()),
                Some(TrieNode::Empty) => {}
                Some(TrieNode::Leaf(value)) => return Some(value),
                Some(TrieNode::Branch(children)) => self.ahead.push(children.iter()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Entry(u64, u32);

    /// The number, as a key that `IS_HASH` or counts up.
    struct Number<const IS_HASH: bool>;

    impl<const IS_HASH: bool> Key<Entry> for Number<IS_HASH> {
        const IS_HASH: bool = IS_HASH;

        fn of(entry: &Entry) -> u64 {
            entry.0
        }
    }

    fn keys() -> impl Strategy<Value = u64> {
        let all = (1 << KEY_BITS) - 1;
        let powers = (0..KEY_BITS).prop_map(|at| 1 << at);
        // Near keys, keys of other lengths, keys that differ in their first or last digit alone.
        prop_oneof![0..40_u64, powers, (0..9_u64).prop_map(move |at| all - at)]
    }

    /// Inserts or removes each key, and looks at what the clones that were kept before are then.
    fn check<K: Key<Entry>>(steps: &[(u64, bool, bool)]) -> Result<(), TestCaseError> {
        let mut trie = Trie::<Entry, K>::default();
        let mut map = BTreeMap::new();
        let mut kept = Vec::new();
        for (number, &(key, is_insert, is_kept)) in (0..).zip(steps) {
            if is_kept {
                kept.push((trie.clone(), map.clone()));
            }
            if is_insert {
                trie.insert(Arc::new(Entry(key, number)));
                map.insert(key, number);
            } else {
                trie.remove(key);
                map.remove(&key);
            }
        }
        kept.push((trie, map));
        for (trie, map) in kept {
            let all: Vec<(u64, u32)> = trie.iter().map(|entry| (entry.0, entry.1)).collect();
            let expected: Vec<_> = map.iter().map(|(key, value)| (*key, *value)).collect();
            prop_assert_eq!(all, expected);
            for key in (0..40).chain((0..KEY_BITS).map(|at| 1 << at)) {
                prop_assert_eq!(trie.get(key).map(|entry| entry.1), map.get(&key).copied());
            }
        }
        Ok(())
    }

    proptest! {
        /// Each clone stays as it was, however the others change.
        #[test]
        fn behaves_like_a_map(
            steps in proptest::collection::vec((keys(), any::<bool>(), any::<bool>()), 0..120),
        ) {
            check::<Number<false>>(&steps)?;
            check::<Number<true>>(&steps)?;
        }
    }
}
