//! The words a ranking knows beforehand, and nothing of any catalog.
//!
//! Three lists: words without a meaning of their own, words by which somebody asks for anything at all, and classes of
//! words that tools and requests use for the same thing. They are general English of programs and everyday life.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::Terms;

/// What is known about a term before any tool is.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The word carries no meaning of its own: `the`, `of`.
    pub(super) stop: bool,
    /// The word asks for something, whatever it is: `please`, `need`, `provide`.
    pub(super) request: bool,
    /// The classes the word belongs to, by number.
    pub(super) classes: Vec<u16>,
}

static LISTS: LazyLock<HashMap<String, Known, foldhash::fast::FixedState>> = LazyLock::new(|| {
    let mut lists = HashMap::<String, Known, _>::default();
    let mut terms = Terms::default();
    for word in include_str!("lists/stop.txt").split_whitespace() {
        lists.entry(word.to_owned()).or_default().stop = true;
    }
    for word in include_str!("lists/request.txt").split_whitespace() {
        lists.entry(terms.joined(&[word])).or_default().request = true;
    }
    for (number, class) in (0_u16..).zip(classes()) {
        for word in class.split_whitespace().filter(|word| !word.contains('+')) {
            let known = lists.entry(terms.joined(&[word])).or_default();
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

/// Returns what is known about a term.
pub(super) fn known(term: &str) -> Option<&'static Known> {
    LISTS.get(term)
}
