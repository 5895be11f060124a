//! Near spellings: the words of a catalog that a misspelt word may stand for.
//!
//! Words are looked up by their consonants in alphabetical order, all of them or all but one: wrong
//! vowels, doubled letters, letters that changed places and one wrong consonant lead to the same
//! entry. The words found there are compared letter by letter.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::term::narrow;

/// Shorter words have too many neighbours.
const MIN_LEN: usize = 4;

/// Longer words are not compared.
const MAX_LEN: usize = 24;

/// The number of words compared for one entry: the consonants of some are those of many.
const MAX_COMPARED: usize = 48;

/// Ends a chain.
const END: u32 = u32::MAX;

/// The words of a catalog by their consonants.
#[derive(Debug, Default)]
pub(super) struct Spellings {
    /// The last link of the chain of each entry.
    entries: HashMap<u32, u32, RandomState>,
    links: Vec<Link>,
    letters: Vec<u8>,
}

/// A word of a chain.
#[derive(Debug, Clone, Copy)]
struct Link {
    term: u32,
    /// The link before.
    before: u32,
    /// The begin of the word in `letters`.
    start: u32,
    len: u32,
}

/// A word that another may stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spelling {
    pub(super) term: u32,
    /// The number of letters that are missing, added, wrong or swapped: 1 or 2.
    pub(super) distance: usize,
}

impl Spellings {
    /// Adds a word of lower-case English letters; others are left out.
    pub(super) fn add(&mut self, word: &str, term: u32) {
        if !is_comparable(word) {
            return;
        }
        let (start, len) = (narrow(self.letters.len()), narrow(word.len()));
        self.letters.extend_from_slice(word.as_bytes());
        keys(word, &mut |key| {
            let link = narrow(self.links.len());
            let before = self.entries.insert(key, link).unwrap_or(END);
            self.links.push(Link { term, before, start, len });
        });
    }

    /// Visits the terms of the words that are nearest to a word, of those that are `held`, and not
    /// further than a misspelling.
    pub(super) fn near(
        &self,
        word: &str,
        held: impl Fn(u32) -> bool,
        visit: &mut dyn FnMut(Spelling),
    ) {
        if !is_comparable(word) {
            return;
        }
        let most = if word.len() < 6 { 1 } else { 2 };
        let places = Places::of(word);
        let mut found: Vec<Spelling> = Vec::new();
        keys(word, &mut |key| {
            let mut link = self.entries.get(&key).copied().unwrap_or(END);
            for _ in 0..MAX_COMPARED {
                let Some(&Link { term, before, start, len }) = self.links.get(link as usize) else {
                    break;
                };
                link = before;
                if (len as usize).abs_diff(word.len()) > most || !held(term) {
                    continue;
                }
                let other = &self.letters[start as usize..(start + len) as usize];
                let distance = places.distance(other);
                if (1..=most).contains(&distance) && !found.iter().any(|found| found.term == term) {
                    found.push(Spelling { term, distance });
                }
            }
        });
        let smallest = found.iter().map(|found| found.distance).min();
        found.into_iter().filter(|found| Some(found.distance) == smallest).for_each(visit);
    }
}

fn is_comparable(word: &str) -> bool {
    (MIN_LEN..=MAX_LEN).contains(&word.len()) && super::words::is_plain(word)
}

/// Visits the consonants of a word as one number each: all, and all but one.
fn keys(word: &str, visit: &mut dyn FnMut(u32)) {
    // Each consonant once, as a bit: the order of letters and how often they stand is left out.
    let letters = word.bytes().fold(0_u32, |letters, byte| letters | 1 << (byte - b'a'));
    let consonants = letters & !VOWELS;
    // The first letter is hardly ever the wrong one.
    let first = u32::from(word.as_bytes()[0] - b'a') << 26;
    visit(first | consonants);
    let mut rest = consonants;
    while rest != 0 {
        let one = rest & rest.wrapping_neg();
        rest ^= one;
        visit(first | consonants ^ one);
    }
}

/// The bits of `a`, `e`, `i`, `o`, `u` and `y`.
const VOWELS: u32 = 1 | 1 << 4 | 1 << 8 | 1 << 14 | 1 << 20 | 1 << 24;

/// A word as the places of each letter in it, a bit for each place.
struct Places {
    /// By letter.
    places: [u32; 32],
    len: usize,
}

impl Places {
    fn of(word: &str) -> Self {
        let mut places = [0; 32];
        for (at, letter) in word.bytes().enumerate() {
            places[usize::from(letter % 32)] |= 1 << at;
        }
        Self { places, len: word.len() }
    }

    /// Returns the number of letters to insert, remove, replace or swap with their neighbour
    /// (optimal string alignment, a column at a time as in Hyyrö 2003).
    fn distance(&self, other: &[u8]) -> usize {
        let (mut more, mut less) = (u32::MAX, 0);
        let (mut diagonal, mut before) = (0_u32, 0);
        let mut distance = self.len;
        for letter in other {
            let same = self.places[usize::from(letter % 32)];
            let swapped = (!diagonal & same) << 1 & before;
            diagonal = ((same & more).wrapping_add(more) ^ more) | same | less | swapped;
            let (up, down) = (less | !(diagonal | more), diagonal & more);
            distance += (up << 1 >> self.len & 1) as usize;
            distance -= (down << 1 >> self.len & 1) as usize;
            let up = up << 1 | 1;
            more = down << 1 | !(diagonal | up);
            less = up & diagonal;
            before = same;
        }
        distance
    }
}

#[cfg(test)]
mod tests {
    use super::{Places, Spelling, Spellings};

    #[test]
    fn misspelt_words_lead_to_the_nearest() {
        let words = [
            "weather",
            "forecast",
            "calendar",
            "restaurant",
            "recommend",
            "translat",
            "flight",
            "messag",
            "address",
            "receiv",
            "stock",
            "stack",
            "music",
            "invoic",
        ];
        let mut spellings = Spellings::default();
        for (term, word) in (0..).zip(words) {
            spellings.add(word, term);
        }
        let near = |word: &str| {
            let mut near = Vec::new();
            spellings
                .near(word, |_| true, &mut |Spelling { term, .. }| near.push(words[term as usize]));
            near
        };
        for (word, expected) in [
            ("wether", "weather"),
            ("waether", "weather"),
            ("forcast", "forecast"),
            ("calender", "calendar"),
            ("calend", "calendar"),
            ("restaraunt", "restaurant"),
            ("recomend", "recommend"),
            ("traslat", "translat"),
            ("flihgt", "flight"),
            ("mesag", "messag"),
            ("adress", "address"),
            ("reciev", "receiv"),
            ("musci", "music"),
            ("musc", "music"),
            ("stokc", "stock"),
            ("invocie", "invoic"),
        ] {
            assert_eq!(near(word), [expected], "{word}");
        }
        for word in
            ["weather", "leather", "cat", "frigate", "mast", "zzzzzz", "über", "x7stock", ""]
        {
            assert!(near(word).is_empty(), "{word}: {:?}", near(word));
        }
    }

    #[test]
    fn distances_count_letters() {
        for (a, b, expected) in [
            ("", "", 0),
            ("ab", "ba", 1),
            ("abc", "ac", 1),
            ("abc", "axc", 1),
            ("abc", "xyz", 3),
            ("abcd", "badc", 2),
            ("ca", "abc", 3),
            ("aaaa", "aaaaaa", 2),
            ("kitten", "sitting", 3),
            ("abababab", "babababa", 2),
            ("aaaaaaaaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaaaaaba", 1),
            ("aaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbb", 24),
        ] {
            assert_eq!(Places::of(a).distance(b.as_bytes()), expected, "{a} {b}");
            assert_eq!(Places::of(b).distance(a.as_bytes()), expected, "{b} {a}");
        }
    }
}
