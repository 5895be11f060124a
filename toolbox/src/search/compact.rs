//! Containers optimized for small contents: words of a few letters, and words that occur in a
//! few tools.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// A map from words.
///
/// A word of less than 16 bytes is a number: it takes no allocation, and comparing it follows no
/// pointer.
#[derive(Debug)]
pub(super) struct WordMap<V> {
    short: HashMap<(u64, u64), V, RandomState>,
    long: HashMap<Box<str>, V, RandomState>,
}

impl<V> Default for WordMap<V> {
    fn default() -> Self {
        Self { short: HashMap::default(), long: HashMap::default() }
    }
}

impl<V> WordMap<V> {
    #[inline]
    pub(super) fn get(&self, word: &str) -> Option<&V> {
        match packed(word) {
            Some(key) => self.short.get(&key),
            None => self.long.get(word),
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, word: &str) -> Option<&mut V> {
        match packed(word) {
            Some(key) => self.short.get_mut(&key),
            None => self.long.get_mut(word),
        }
    }

    pub(super) fn insert(&mut self, word: &str, value: V) {
        match packed(word) {
            Some(key) => self.short.insert(key, value),
            None => self.long.insert(word.into(), value),
        };
    }

    #[inline]
    pub(super) fn get_or_insert_with(&mut self, word: &str, make: impl FnOnce() -> V) -> &mut V {
        match packed(word) {
            Some(key) => self.short.entry(key).or_insert_with(make),
            None => {
                if !self.long.contains_key(word) {
                    self.long.insert(word.into(), make());
                }
                self.long.get_mut(word).expect("a word that was inserted just now")
            }
        }
    }

    pub(super) fn remove(&mut self, word: &str) -> Option<V> {
        match packed(word) {
            Some(key) => self.short.remove(&key),
            None => self.long.remove(word),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }
}

/// Returns the bytes of a short word and, in the last byte, its length.
///
/// They are read as two numbers that may overlap: copying them one by one would cost more than the
/// lookup.
#[inline]
fn packed(word: &str) -> Option<(u64, u64)> {
    let bytes = word.as_bytes();
    let len = bytes.len();
    let (low, high) = if let (Some(first), Some(last)) =
        (bytes.first_chunk::<8>(), bytes.last_chunk::<8>())
    {
        if len >= 16 {
            return None;
        }
        // Of the last eight, those that are among the first are shifted out.
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last) >> 8 >> (8 * (15 - len)))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let last = u64::from(u32::from_le_bytes(*last)) >> (8 * (8 - len));
        (u64::from(u32::from_le_bytes(*first)) | last << 32, 0)
    } else {
        (bytes.iter().fold(0, |low, &byte| low << 8 | u64::from(byte)), 0)
    };
    Some((low, high | (len as u64) << 56))
}

/// A list that mostly has a few values, and then takes no allocation.
#[derive(Debug, Default)]
pub(super) enum Few<T> {
    #[default]
    None,
    One([T; 1]),
    Two([T; 2]),
    Three([T; 3]),
    Four([T; 4]),
    More(Vec<T>),
}

impl<T: Copy> Few<T> {
    #[inline]
    pub(super) fn as_slice(&self) -> &[T] {
        match self {
            Self::None => &[],
            Self::One(list) => list,
            Self::Two(list) => list,
            Self::Three(list) => list,
            Self::Four(list) => list,
            Self::More(list) => list,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, value: T) {
        *self = match *self {
            Self::More(ref mut list) => return list.push(value),
            Self::None => Self::One([value]),
            Self::One([a]) => Self::Two([a, value]),
            Self::Two([a, b]) => Self::Three([a, b, value]),
            Self::Three([a, b, c]) => Self::Four([a, b, c, value]),
            Self::Four([a, b, c, d]) => {
                let mut list = Vec::with_capacity(8);
                list.extend([a, b, c, d, value]);
                Self::More(list)
            }
        };
    }

    pub(super) fn edit(&mut self, change: impl FnOnce(&mut Vec<T>)) {
        match self {
            Self::More(list) => change(list),
            few => {
                let mut list = few.as_slice().to_vec();
                change(&mut list);
                *few = match *list {
                    [] => Self::None,
                    [a] => Self::One([a]),
                    [a, b] => Self::Two([a, b]),
                    [a, b, c] => Self::Three([a, b, c]),
                    [a, b, c, d] => Self::Four([a, b, c, d]),
                    _ => Self::More(list),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{WordMap, packed};

    #[test]
    fn words_are_told_apart_whatever_their_length() {
        let mut map = WordMap::default();
        let words: Vec<String> = (0..40)
            .flat_map(|len| ["a", "b", "\0"].map(|letter| letter.repeat(len)))
            .chain((1..16).map(|at| format!("{}b{}", "a".repeat(at - 1), "a".repeat(15 - at))))
            .collect();
        for word in &words {
            map.insert(word, word.clone());
        }
        for word in &words {
            assert_eq!(map.get(word), Some(word));
        }
        assert_eq!(map.get("c"), None);
        assert!(packed("fifteen letters").is_some() && packed("sixteen letters.").is_none());
    }
}
