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
                if let Some(distance @ 1..) = distance(word.as_bytes(), other, most)
                    && !found.iter().any(|found| found.term == term)
                {
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

/// Returns the number of letters to insert, remove, replace or swap with their neighbour, if it is
/// at most `most` (optimal string alignment).
fn distance(a: &[u8], b: &[u8], most: usize) -> Option<usize> {
    let mut rows = [[0_u8; MAX_LEN + 1]; 3];
    for (at, cell) in (0..).zip(&mut rows[0]) {
        *cell = at;
    }
    for (i, (&left, number)) in a.iter().zip(1..).enumerate() {
        let (now, last, before) = ((i + 1) % 3, i % 3, (i + 2) % 3);
        rows[now][0] = number;
        let mut smallest = number;
        for (j, &right) in b.iter().enumerate() {
            let mut cell = (rows[last][j] + u8::from(left != right))
                .min(rows[last][j + 1] + 1)
                .min(rows[now][j] + 1);
            if i > 0 && j > 0 && left == b[j - 1] && a[i - 1] == right {
                cell = cell.min(rows[before][j - 1] + 1);
            }
            rows[now][j + 1] = cell;
            smallest = smallest.min(cell);
        }
        if usize::from(smallest) > most {
            return None;
        }
    }
    Some(usize::from(rows[a.len() % 3][b.len()])).filter(|&distance| distance <= most)
}

#[cfg(test)]
mod tests {
    use super::{Spelling, Spellings, distance};

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
            ("", "", Some(0)),
            ("ab", "ba", Some(1)),
            ("abc", "ac", Some(1)),
            ("abc", "axc", Some(1)),
            ("abcd", "badc", Some(2)),
            ("abc", "xyz", None),
        ] {
            assert_eq!(distance(a.as_bytes(), b.as_bytes(), 2), expected, "{a} {b}");
            assert_eq!(distance(b.as_bytes(), a.as_bytes(), 2), expected, "{b} {a}");
        }
    }
}
