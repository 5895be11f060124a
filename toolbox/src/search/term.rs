//! Terms: what the words of a text stand for in the index.

use super::lists::KnownTerm;
use super::words::{self, Term, TermKind, words};

/// Stands in a sequence of terms where two neighbours are not neighbours: between fields, and for a
/// stop word.
pub(super) const BREAK: u32 = u32::MAX;

/// The role of a term in the ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TermRole {
    Part,
    Stop,
    Whole,
    Pair,
    Single,
    Class,
}

/// One term that a word stands for.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordTerm {
    pub(super) term: u32,
    pub(super) role: TermRole,
    /// The word asks for something whatever it is, or is grammar: it says little of what is asked
    /// for.
    pub(super) faint: bool,
}

impl WordTerm {
    /// Returns `true` if the term, or the word that it is a class of, stands in one of the lists.
    pub(super) fn is_known(self) -> bool {
        self.faint || matches!(self.role, TermRole::Stop | TermRole::Class)
    }
}

impl TermRole {
    /// Returns the role of a term, and whether it is faint.
    pub(super) fn of(term: &Term<'_>, known: Option<&KnownTerm>) -> (Self, bool) {
        match term.kind {
            TermKind::Part if known.is_some_and(|known| known.stop) => (Self::Stop, false),
            TermKind::Part => (Self::Part, known.is_some_and(|known| known.request)),
            TermKind::Whole => (Self::Whole, false),
            TermKind::Pair => (Self::Pair, words::is_grammar(term.folded)),
            TermKind::Single => (Self::Single, words::is_grammar(term.folded)),
        }
    }

    /// Returns whether a term of this role counts for plain BM25: words and pairs of characters,
    /// and nothing made of them.
    pub(super) fn counts_plainly(self) -> bool {
        matches!(self, Self::Part | Self::Pair)
    }

    pub(super) fn has_classes(self) -> bool {
        matches!(self, Self::Part | Self::Whole | Self::Pair)
    }
}

pub(super) fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("fewer terms than 2^32")
}

/// Returns the letters and digits of a name in one spelling.
pub(super) fn key(name: &str) -> String {
    let mut key = String::with_capacity(name.len());
    push_key(name, &mut key);
    key
}

/// Adds the letters and digits of a name in one spelling.
pub(super) fn push_key(name: &str, key: &mut String) {
    let from = key.len();
    let mut folded = String::new();
    for word in words(name) {
        if word.is_ascii() {
            key.push_str(word);
        } else {
            words::fold(word, &mut folded);
            key.push_str(&folded);
        }
    }
    key[from..].make_ascii_lowercase();
}
