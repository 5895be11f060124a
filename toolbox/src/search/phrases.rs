//! Phrases of everyday speech that stand for a plain word: `get rid of` for `delete`.

use std::sync::LazyLock;

use super::compact::WordMap;
use super::words::words;

/// The most words between the two of a phrase: `throw the old draft away`.
const MAX_GAP: usize = 4;

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

/// Writes the phrases of a sentence, in the order of their words and none within another.
pub(super) fn find(sentence: &[&str], found: &mut Vec<FoundPhrase>) {
    found.clear();
    let mut free = 0;
    let mut lower = [0; MAX_FIRST];
    for (at, word) in sentence.iter().enumerate() {
        let Some(lower) = lower.get_mut(..word.len()) else { continue };
        lower.copy_from_slice(word.as_bytes());
        lower.make_ascii_lowercase();
        let known = str::from_utf8(lower).ok().and_then(|word| PHRASES.get(word));
        if at < free {
            continue;
        }
        let longest = known.into_iter().flatten();
        if let Some(phrase) = longest.filter_map(|phrase| phrase.at(sentence, at)).next() {
            free = phrase.until + 1;
            found.push(phrase);
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
