//! Phrases of everyday speech that stand for a plain word: `get rid of` for `delete`.

use std::sync::LazyLock;

use super::compact::WordMap;
use super::words::words;

/// The most words between the two of a phrase: `throw the old draft away`.
const MAX_GAP: usize = 4;

/// The most phrases of a sentence.
const MAX_PHRASES: usize = 32;

/// The most letters of the first word of a phrase.
const MAX_FIRST: usize = 15;

/// Second words that an object may stand before.
const PARTICLES: [&str; 9] =
    ["off", "out", "up", "down", "away", "back", "aside", "apart", "together"];

/// The words of a phrase after the first, and what it stands for.
#[derive(Debug)]
struct Phrase {
    rest: Vec<&'static str>,
    /// An object may stand between the two words.
    has_gap: bool,
    plain: &'static str,
}

/// A phrase within a sentence, by the numbers of its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoundPhrase {
    pub(super) plain: &'static str,
    first: usize,
    /// The last word of those in a row.
    until: usize,
    last: usize,
}

impl FoundPhrase {
    /// Returns `true` if a word is part of the phrase.
    pub(super) fn has(&self, at: usize) -> bool {
        (self.first..=self.until).contains(&at) || at == self.last
    }

    /// Returns `true` if these are two meanings of the same words.
    fn is_same(&self, other: &Self) -> bool {
        (self.first, self.until, self.last) == (other.first, other.until, other.last)
    }

    /// Returns `true` if the phrase begins with a word.
    pub(super) fn begins(&self, at: usize) -> bool {
        self.first == at
    }
}

/// By each form of the first word, longest first.
static PHRASES: LazyLock<WordMap<Vec<Phrase>>> = LazyLock::new(|| {
    let mut phrases = WordMap::<Vec<Phrase>>::default();
    let lines = include_str!("lists/phrases.txt").lines().filter(|line| !line.starts_with('#'));
    for (plain, list) in lines.filter_map(|line| line.split_once(": ")) {
        for phrase in list.split(", ") {
            let (first, rest) = phrase.split_once(' ').unwrap_or((phrase, ""));
            let mut forms: Vec<String> = first.split('/').flat_map(forms).collect();
            forms.sort_unstable();
            forms.dedup();
            for form in forms {
                let own = phrases.get_or_insert_with(&form, Vec::new);
                let has_gap = rest.starts_with("_ ") || PARTICLES.contains(&rest);
                let rest: Vec<&str> = words(rest).collect();
                let at = own.partition_point(|other| other.rest.len() >= rest.len());
                own.insert(at, Phrase { rest, has_gap, plain });
            }
        }
    }
    phrases
});

/// Returns the forms of a verb, and a few that no text has.
fn forms(verb: &str) -> Vec<String> {
    let mut forms = vec![verb.to_owned()];
    let stem = verb.strip_suffix('e').unwrap_or(verb);
    forms.extend(["s", "es"].map(|ending| format!("{verb}{ending}")));
    forms.extend(["ing", "ed"].map(|ending| format!("{stem}{ending}")));
    if let Some(stem) = verb.strip_suffix('y') {
        forms.extend(["ies", "ied"].map(|ending| format!("{stem}{ending}")));
    }
    if let Some(last) = verb.chars().last() {
        forms.extend(["ing", "ed"].map(|ending| format!("{verb}{last}{ending}")));
    }
    forms
}

/// Writes the phrases of a sentence, in the order of their words and none within another. One of
/// several meanings comes as often.
pub(super) fn find(sentence: &[&str], found: &mut Vec<FoundPhrase>) {
    found.clear();
    let mut free = 0;
    let mut lower = [0; MAX_FIRST];
    for (at, word) in sentence.iter().enumerate() {
        if at < free || found.len() >= MAX_PHRASES {
            continue;
        }
        let Some(lower) = lower.get_mut(..word.len()) else { continue };
        lower.copy_from_slice(word.as_bytes());
        lower.make_ascii_lowercase();
        let known = str::from_utf8(lower).ok().and_then(|word| PHRASES.get(word));
        // The longest comes first, and may have several meanings.
        for phrase in known.into_iter().flatten().filter_map(|phrase| phrase.at(sentence, at)) {
            if free <= at || found.last().is_some_and(|last| last.is_same(&phrase)) {
                free = phrase.until + 1;
                found.push(phrase);
            }
        }
    }
}

impl Phrase {
    /// Returns the phrase where its first word is word `at` of a sentence.
    fn at(&self, sentence: &[&str], at: usize) -> Option<FoundPhrase> {
        let same = |words: &[&str], rest: &[&str]| {
            words.len() >= rest.len()
                && words.iter().zip(rest).all(|(word, own)| word.eq_ignore_ascii_case(own))
        };
        let found = |until, last| FoundPhrase { plain: self.plain, first: at, until, last };
        let after = &sentence[at + 1..];
        if same(after, &self.rest) {
            return Some(found(at + self.rest.len(), at));
        }
        let [second] = self.rest[..] else { return None };
        let mut near = after.iter().take(if self.has_gap { MAX_GAP + 1 } else { 0 });
        let last = near.position(|word| word.eq_ignore_ascii_case(second))?;
        Some(found(at, at + 1 + last))
    }
}

#[cfg(test)]
mod tests {
    use super::{FoundPhrase, MAX_PHRASES, find};
    use crate::search::lists::known;
    use crate::search::words::{Terms, words};

    fn found(sentence: &str) -> Vec<FoundPhrase> {
        let mut found = Vec::new();
        find(&words(sentence).collect::<Vec<_>>(), &mut found);
        found
    }

    #[test]
    fn phrases_are_found_in_their_forms_and_around_an_object() {
        let cases: [(&str, &[&str]); 12] = [
            ("get rid of it", &["delete"]),
            ("Getting rid of it", &["delete"]),
            ("it got rid of", &["delete"]),
            ("throw the old draft away", &["delete"]),
            ("throw one two three four five away", &[]),
            ("throwing the draft out, then call the meeting off", &["delete", "cancel"]),
            ("look it up for me", &[]),
            ("swap the blue one for a red one", &["replace"]),
            ("we tied it up", &["complete"]),
            ("rid of", &[]),
            ("kick", &[]),
            ("", &[]),
        ];
        for (sentence, expected) in cases {
            let plain: Vec<_> = found(sentence).iter().map(|found| found.plain).collect();
            assert_eq!(plain, expected, "{sentence}");
        }
        let found = found("please put it off now");
        let words: Vec<_> = (0..5).filter(|&at| found[0].has(at)).collect();
        assert_eq!((words, found[0].begins(1)), (vec![1, 3], true));
    }

    #[test]
    fn a_sentence_has_a_few_phrases() {
        assert!(found(&"get rid of ".repeat(1_000)).len() <= MAX_PHRASES);
        assert!(found(&"x".repeat(1_000)).is_empty());
    }

    #[test]
    fn phrases_stand_for_words_that_are_known() {
        let lines = include_str!("lists/phrases.txt").lines();
        let mut seen = Vec::new();
        for line in lines.filter(|line| !line.starts_with('#')) {
            let (plain, phrases) = line.split_once(": ").expect("a word, and its phrases");
            let stem = Terms::default().joined(&[plain]);
            assert!(known(&stem).is_some_and(|known| !known.stop), "{plain}");
            assert!(!seen.contains(&plain), "{plain} has two lines");
            seen.push(plain);
            let mut own: Vec<_> = phrases.split(", ").collect();
            own.sort_unstable();
            assert!(own.windows(2).all(|pair| pair[0] != pair[1]), "{line}");
        }
    }
}
