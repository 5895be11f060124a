//! The words a ranking knows independently of any catalog.
//!
//! Three lists: stop words, words that mark any request (such as `please`), and classes of words
//! that tools and requests use for the same thing. A fourth, of phrases, is read by
//! [`phrases`](super::phrases). They are general English of programs and
//! everyday life.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::compact::WordMap;
use super::words::Terms;

/// The entries of a term in the word lists.
#[derive(Debug, Default)]
pub(super) struct KnownTerm {
    /// The term is a stop word: `the`, `of`.
    pub(super) stop: bool,
    /// The term marks a request of any kind: `please`, `need`, `provide`.
    pub(super) request: bool,
    /// The classes the word belongs to, by number.
    pub(super) classes: Vec<u16>,
}

static LISTS: LazyLock<WordMap<KnownTerm>> = LazyLock::new(|| {
    let mut lists = WordMap::<KnownTerm>::default();
    let mut terms = Terms::default();
    for word in include_str!("lists/stop.txt").split_whitespace() {
        lists.get_or_insert_with(word, KnownTerm::default).stop = true;
    }
    for word in include_str!("lists/request.txt").split_whitespace() {
        lists.get_or_insert_with(&terms.joined(&[word]), KnownTerm::default).request = true;
    }
    for (number, class) in (0_u16..).zip(classes()) {
        for word in class.split_whitespace().filter(|word| !word.contains('+')) {
            let known = lists.get_or_insert_with(&terms.joined(&[word]), KnownTerm::default);
            if !known.classes.contains(&number) {
                known.classes.push(number);
            }
        }
    }
    lists
});

/// Returns the classes of two words in a row: the stem of each, and the class.
pub(super) fn known_pairs() -> &'static [(String, String, u16)] {
    static PAIRS: LazyLock<Vec<(String, String, u16)>> = LazyLock::new(|| {
        let mut terms = Terms::default();
        let mut pairs = Vec::new();
        for (number, class) in (0_u16..).zip(classes()) {
            for (first, second) in class.split_whitespace().filter_map(|word| word.split_once('+'))
            {
                pairs.push((terms.joined(&[first]), terms.joined(&[second]), number));
            }
        }
        pairs
    });
    &PAIRS
}

fn classes() -> impl Iterator<Item = &'static str> {
    include_str!("lists/topics.txt").lines().filter(|line| !line.starts_with('#'))
}

/// Returns the class of what answers questions of any kind: the last.
pub(super) fn general() -> u16 {
    static GENERAL: LazyLock<u16> =
        LazyLock::new(|| u16::try_from(classes().count() - 1).expect("a few hundred classes"));
    *GENERAL
}

/// Returns the class of what calculates: the last but one.
pub(super) fn calculators() -> u16 {
    general() - 1
}

/// Returns the entries of a term in the word lists.
pub(super) fn known(term: &str) -> Option<&'static KnownTerm> {
    LISTS.get(term)
}

/// Returns `true` if a word stands in one of the lists as it is written.
pub(super) fn is_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&'static str, foldhash::fast::FixedState>> =
        LazyLock::new(|| {
            let texts = [include_str!("lists/stop.txt"), include_str!("lists/request.txt")];
            let words = texts.into_iter().flat_map(str::split_whitespace);
            let classes = classes().flat_map(|class| class.split(|c: char| !c.is_alphabetic()));
            words.chain(classes).filter(|word| word.len() > 1).collect()
        });
    WORDS.contains(word)
}
