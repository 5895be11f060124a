//! A query as the ranking reads it: terms with their weights, sentence by sentence.

use super::fields::sentences;
use super::lists::{general, known};
use super::payload::Payload;
use super::spelling::Spelling;
use super::term::{BREAK, TermRole, WordTerm, key};
use super::vocabulary::Vocabulary;
use super::weights::Weights;
use super::words::{self, Terms, words};

use crate::text::cut;

/// The maximum number of bytes read of a query. A longer one is a document; its beginning says what
/// is wanted.
const MAX_TEXT: usize = 16 * 1024;

/// The maximum number of terms of a query.
const MAX_TERMS: usize = 256;

/// The maximum number of misspelt words of a query that are looked up.
const MAX_MISSPELT: usize = 16;

/// A query longer than this, in bytes, is no name.
const MAX_NAME: usize = 256;

/// A term of one sentence.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryTerm {
    pub(super) term: u32,
    /// The largest weight of the words that led to it.
    pub(super) weight: f32,
    /// The number of words that led to it.
    pub(super) count: u32,
    pub(super) is_class: bool,
    /// All of these words are values, and not what is asked for.
    pub(super) is_value: bool,
}

/// A query as the ranking reads it.
#[derive(Debug, Default)]
pub(super) struct Query {
    pub(super) wanted: Vec<QueryTerm>,
    /// The end of each sentence in `wanted`.
    pub(super) sentences: Vec<usize>,
    /// Adjacent terms, sorted.
    pub(super) phrases: Vec<(u32, u32)>,
    /// The words themselves, in order, without unknown ones.
    pub(super) words: Vec<u32>,
    /// The terms of the plain formula, repeated as in the query.
    pub(super) plain: Vec<u32>,
    /// Tools that are named within the query.
    pub(super) named: Vec<u32>,
    /// Tools whose name is the query.
    pub(super) exact: Vec<u32>,
    /// The number of tools that hold the rarest word of the query, at least one.
    pub(super) rarest: Option<u32>,
    payload: Payload,
    /// The word that is read is part of a value.
    in_value: bool,
    misspelt: usize,
    terms: Terms,
    pieces: Vec<WordTerm>,
    near: Vec<Spelling>,
    folded: String,
    joined: String,
}

impl Query {
    /// Reads a query against the words of a catalog.
    pub(super) fn read(&mut self, text: &str, vocabulary: &Vocabulary, weights: &Weights) {
        self.wanted.clear();
        self.sentences.clear();
        self.phrases.clear();
        self.words.clear();
        self.plain.clear();
        self.named.clear();
        self.exact.clear();
        self.rarest = None;
        self.misspelt = 0;
        let text = cut(text, MAX_TEXT);
        let name = text.trim();
        if !name.is_empty() && name.len() <= MAX_NAME {
            self.exact.extend_from_slice(vocabulary.named(&key(name)));
        }
        self.payload.read(text, vocabulary);
        self.read_sentences(text, vocabulary, weights, false);
        if self.wanted.is_empty() {
            // A query of stop words alone means them.
            self.read_sentences(text, vocabulary, weights, true);
        }
        self.read_identifiers(text, vocabulary);
        self.phrases.sort_unstable();
        self.phrases.dedup();
    }

    /// Finds words that are written as identifiers, and the tools they name.
    fn read_identifiers(&mut self, text: &str, vocabulary: &Vocabulary) {
        let is_identifier = |pair: &[u8]| {
            b"_-.:/".contains(&pair[0]) && !pair[1].is_ascii_whitespace()
                || pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()
        };
        if text.is_ascii() && !text.as_bytes().windows(2).any(is_identifier) {
            return;
        }
        let joins = |c: char| matches!(c, '_' | '-' | '.' | ':' | '/');
        let written = text.split(|c: char| !(c.is_alphanumeric() || joins(c)));
        for word in written.map(|word| word.trim_matches(joins)).filter(|w| w.len() <= MAX_NAME) {
            let camel = || {
                word.chars()
                    .zip(word.chars().skip(1))
                    .any(|(a, b)| a.is_lowercase() && b.is_uppercase())
            };
            if self.named.len() < 64 && word.len() > 3 && (word.contains(joins) || camel()) {
                self.named.extend(vocabulary.named(&key(word)).iter().take(8));
            }
        }
        self.named.sort_unstable();
        self.named.dedup();
    }

    fn read_sentences(
        &mut self,
        text: &str,
        vocabulary: &Vocabulary,
        weights: &Weights,
        stops: bool,
    ) {
        for sentence in sentences(text) {
            let from = self.wanted.len();
            self.read_sentence(sentence, vocabulary, weights, stops);
            if self.wanted.len() > from {
                self.sentences.push(self.wanted.len());
            }
            if self.wanted.len() >= MAX_TERMS {
                break;
            }
        }
    }

    fn read_sentence(
        &mut self,
        sentence: &str,
        vocabulary: &Vocabulary,
        weights: &Weights,
        stops: bool,
    ) {
        let from = self.wanted.len();
        let asked = if is_telling(sentence) { weights.telling } else { 1.0 };
        let mut pieces = std::mem::take(&mut self.pieces);
        let mut last = BREAK;
        let (mut words_read, mut unknown) = (0.0, 0.0);
        self.joined.clear();
        self.payload.read_sentence(sentence, vocabulary);
        // All words, before any is looked at: the processor then fetches several at once.
        let surface = |word| vocabulary.surface(cut(word, words::MAX_WORD));
        let surfaces: Vec<_> = words(sentence).map(surface).collect();
        for (word, surface) in words(sentence).zip(surfaces) {
            if self.wanted.len() >= MAX_TERMS {
                break;
            }
            self.pieces_from(word, surface, vocabulary, &mut pieces);
            let said = self.payload.weight_of(word, weights);
            let base = asked * said;
            self.in_value = said < 1.0;
            let digits = word.bytes().any(|byte| byte.is_ascii_digit());
            let mut stop = false;
            for (at, &WordTerm { term, role, faint }) in pieces.iter().enumerate() {
                let mut weight = if faint { base * weights.faint } else { base };
                // Without spaces, a number and the words around it are one run.
                if digits && !matches!(role, TermRole::Pair | TermRole::Single) {
                    weight *= weights.digits;
                }
                match role {
                    TermRole::Stop if !stops => {
                        stop = true;
                        last = BREAK;
                        continue;
                    }
                    TermRole::Stop | TermRole::Pair => {}
                    TermRole::Part => {
                        for &class in vocabulary.class_pair(last, term) {
                            self.want_class(from, class, weight * weights.class_pair);
                        }
                        if self.in_value {
                            last = BREAK;
                        } else {
                            if last != BREAK && term != BREAK {
                                self.phrases.push((last, term));
                            }
                            last = term;
                            self.words.push(term);
                        }
                    }
                    TermRole::Whole => weight *= weights.whole,
                    TermRole::Single => weight *= weights.single,
                    // Comes with the word, which is read before it.
                    TermRole::Class => continue,
                }
                if role.counts_plainly() && term != BREAK {
                    self.plain.push(term);
                }
                self.want(from, term, weight);
                let held = vocabulary.holding(term);
                if role.has_classes() {
                    let classes = || {
                        pieces[at + 1..].iter().take_while(|piece| piece.role == TermRole::Class)
                    };
                    #[expect(clippy::cast_precision_loss, reason = "counts of tools and classes")]
                    let shares =
                        classes().count() as f32 * (1.0 + held as f32 / weights.class_held);
                    for class in classes() {
                        self.want_class(from, class.term, weight * weights.class / shares);
                    }
                }
                if !faint && !digits && !self.in_value && role.counts_plainly() {
                    words_read += 1.0;
                    unknown += if held == 0 { 1.0 } else { 0.0 };
                    let held = held.max(1);
                    self.rarest = Some(self.rarest.map_or(held, |rarest| rarest.min(held)));
                }
            }
            if stop {
                self.joined.clear();
                continue;
            }
            words::fold(cut(word, words::MAX_WORD), &mut self.folded);
            let weight = if digits { base * weights.digits } else { base };
            // The word in the spelling of a tool that writes it apart or together.
            let alias = (self.folded != word)
                .then(|| Some(vocabulary.surface(&self.folded)?.first()?.term))
                .flatten();
            for term in [vocabulary.compound(&self.folded), alias].into_iter().flatten() {
                if !pieces.iter().any(|piece| piece.term == term) {
                    self.want(from, term, weight * weights.whole);
                }
            }
            self.read_compound(vocabulary, from, weight * weights.compound);
            // A word with a capital within a sentence is a name, and not misspelt.
            if !self.in_value && (self.folded == word || self.wanted.len() == from) {
                let before = self.wanted.len();
                self.read_misspelt(vocabulary, &pieces, from, weight * weights.misspelt);
                unknown -= if self.wanted.len() > before { 1.0 } else { 0.0 };
            }
        }
        self.pieces = pieces;
        self.in_value = false;
        if unknown > 0.0 && is_question(sentence) {
            // The less of a question any tool speaks of, the more it is one of general knowledge.
            let class = vocabulary.class(general()).unwrap_or(BREAK);
            self.want_class(from, class, weights.general * unknown / words_read);
        }
    }

    /// Looks the last word and this one up as one word.
    fn read_compound(&mut self, vocabulary: &Vocabulary, from: usize, weight: f32) {
        let last = self.joined.len();
        self.joined.push_str(&self.folded);
        if last > 0 && self.joined.len() <= words::MAX_WORD {
            let term = vocabulary.compound(&self.joined);
            let term = term.or_else(|| Some(vocabulary.surface(&self.joined)?.first()?.term));
            self.want(from, term.unwrap_or(BREAK), weight);
        }
        self.joined.drain(..last);
    }

    /// Looks the words up that this one, which no tool says, may stand for.
    fn read_misspelt(
        &mut self,
        vocabulary: &Vocabulary,
        pieces: &[WordTerm],
        from: usize,
        weight: f32,
    ) {
        let [WordTerm { term, role: TermRole::Part, .. }] = *pieces else { return };
        if vocabulary.holding(term) > 0 || self.misspelt == MAX_MISSPELT {
            return;
        }
        self.misspelt += 1;
        let mut near = std::mem::take(&mut self.near);
        near.clear();
        vocabulary.near(&self.folded, &mut |spelling| near.push(spelling));
        if near.is_empty() {
            let stem = self.terms.joined(&[&self.folded]);
            vocabulary.near(&stem, &mut |spelling| near.push(spelling));
        }
        for near in near.iter().take(4) {
            let weight = if near.distance > 1 { weight / 2.0 } else { weight };
            self.want(from, near.term, weight);
        }
        self.near = near;
    }

    /// Counts a term of the sentence that begins at `from`.
    fn want(&mut self, from: usize, term: u32, weight: f32) {
        self.add(
            from,
            QueryTerm { term, weight, count: 1, is_class: false, is_value: self.in_value },
        );
    }

    /// Counts a class of a word of the sentence that begins at `from`.
    fn want_class(&mut self, from: usize, term: u32, weight: f32) {
        self.add(
            from,
            QueryTerm { term, weight, count: 1, is_class: true, is_value: self.in_value },
        );
    }

    fn add(&mut self, from: usize, new: QueryTerm) {
        if new.term == BREAK {
            return;
        }
        let mut sentence = self.wanted[from..].iter_mut();
        if let Some(wanted) = sentence.find(|wanted| wanted.term == new.term) {
            wanted.weight = wanted.weight.max(new.weight);
            wanted.count += 1;
            wanted.is_value &= new.is_value;
        } else if self.wanted.len() < 2 * MAX_TERMS {
            self.wanted.push(new);
        }
    }

    /// Writes the terms of a word, also of one that no tool says.
    pub(super) fn pieces_of(
        &mut self,
        word: &str,
        vocabulary: &Vocabulary,
        pieces: &mut Vec<WordTerm>,
    ) {
        let surface = vocabulary.surface(cut(word, words::MAX_WORD));
        self.pieces_from(word, surface, vocabulary, pieces);
    }

    /// Writes the terms of a word, which are those of its surface if a tool says it.
    fn pieces_from(
        &mut self,
        word: &str,
        surface: Option<&[WordTerm]>,
        vocabulary: &Vocabulary,
        pieces: &mut Vec<WordTerm>,
    ) {
        pieces.clear();
        if let Some(known) = surface {
            pieces.extend_from_slice(known);
            return;
        }
        self.terms.of_word(word, &mut |part| {
            let text = part.text();
            let term = vocabulary.term(&text).unwrap_or(BREAK);
            let known = known(&text);
            let (role, faint) = TermRole::of(&part, known);
            pieces.push(WordTerm { term, role, faint });
            if role.has_classes() {
                for class in known.into_iter().flat_map(|known| &known.classes) {
                    let term = vocabulary.class(*class).unwrap_or(BREAK);
                    pieces.push(WordTerm { term, role: TermRole::Class, faint });
                }
            }
        });
    }
}

/// Returns `true` if a sentence describes its speaker: the request is in another.
fn is_telling(sentence: &str) -> bool {
    let mut words = words(sentence);
    let (Some(first), second) = (words.next(), words.next().unwrap_or_default()) else {
        return false;
    };
    let any = |word: &str, list: &[&str]| list.iter().any(|other| word.eq_ignore_ascii_case(other));
    any(first, &["my", "our"])
        || any(first, &["i", "we"])
            && any(second, &["m", "am", "re", "are", "ve", "have", "had", "was", "were", "just"])
}

/// Returns `true` if a sentence asks for something of the world, and not for something of its
/// speaker.
fn is_question(sentence: &str) -> bool {
    const ASKING: [&str; 9] =
        ["what", "who", "whom", "whose", "when", "where", "why", "which", "how"];
    const OWN: [&str; 5] = ["i", "me", "my", "we", "our"];
    let any = |word: &str, list: &[&str]| list.iter().any(|other| word.eq_ignore_ascii_case(other));
    words(sentence).next().is_some_and(|word| any(word, &ASKING))
        && !words(sentence).any(|word| any(word, &OWN))
}
