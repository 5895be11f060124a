//! A query as the ranking reads it: terms with their weights, sentence by sentence.

use super::arithmetic::is_sum;
use super::fields::sentences;
use super::lists::{calculators, general, known};
use super::payload::Payload;
use super::phrases::{self, FoundPhrase};
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
    misspelt: usize,
    terms: Terms,
    pieces: Vec<WordTerm>,
    phrasal: Vec<FoundPhrase>,
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
            Sentence::new(self, vocabulary, weights, stops).read(sentence);
            if self.wanted.len() > from {
                self.sentences.push(self.wanted.len());
            }
            if self.wanted.len() >= MAX_TERMS {
                break;
            }
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

/// A sentence of a query while it is read.
struct Sentence<'a> {
    query: &'a mut Query,
    vocabulary: &'a Vocabulary,
    weights: &'a Weights,
    /// Stop words are meant as well.
    stops: bool,
    /// The position of its first term in [`Query::wanted`].
    from: usize,
    /// The last part of a word, with which the next is a phrase.
    last: u32,
    /// The word that is read is part of a value.
    in_value: bool,
    /// The number of words that may be known.
    counted: f32,
    /// The number of them that no tool says.
    unknown: f32,
}

/// A word of a sentence.
struct QueryWord<'a> {
    text: &'a str,
    weight: f32,
    has_digits: bool,
}

impl<'a> Sentence<'a> {
    fn new(
        query: &'a mut Query,
        vocabulary: &'a Vocabulary,
        weights: &'a Weights,
        stops: bool,
    ) -> Self {
        let from = query.wanted.len();
        let (in_value, counted, unknown) = (false, 0.0, 0.0);
        Self { query, vocabulary, weights, stops, from, last: BREAK, in_value, counted, unknown }
    }

    fn read(mut self, sentence: &str) {
        let asked = if is_telling(sentence) { self.weights.telling } else { 1.0 };
        let mut pieces = std::mem::take(&mut self.query.pieces);
        self.query.joined.clear();
        self.query.payload.read_sentence(sentence, self.vocabulary);
        // All words, before any is looked at: the processor then fetches several at once.
        let surface = |word| (word, self.vocabulary.surface(cut(word, words::MAX_WORD)));
        let (all, surfaces): (Vec<_>, Vec<_>) = words(sentence).map(surface).unzip();
        let mut phrasal = std::mem::take(&mut self.query.phrasal);
        phrases::find(&all, &mut phrasal);
        for (at, (word, surface)) in all.into_iter().zip(surfaces).enumerate() {
            if self.query.wanted.len() >= MAX_TERMS {
                break;
            }
            let mut said = self.query.payload.weight_of(word, self.weights);
            let meanings = || phrasal.iter().filter(|phrase| phrase.begins(at));
            #[expect(clippy::cast_precision_loss, reason = "a few meanings")]
            let shared = asked / meanings().count().max(1) as f32;
            for phrase in meanings() {
                // It is no word of the request for the textbook's formula, and none of a question.
                let before = (self.query.plain.len(), self.counted, self.unknown);
                self.query.pieces_of(phrase.plain, self.vocabulary, &mut pieces);
                self.read_word(phrase.plain, shared, said, &pieces);
                (self.counted, self.unknown) = (before.1, before.2);
                self.query.plain.truncate(before.0);
                self.query.joined.clear();
            }
            if phrasal.iter().any(|phrase| phrase.has(at)) {
                said *= self.weights.phrasal;
            }
            self.query.pieces_from(word, surface, self.vocabulary, &mut pieces);
            self.read_word(word, asked, said, &pieces);
        }
        (self.query.pieces, self.query.phrasal) = (pieces, phrasal);
        if is_sum(sentence) {
            let class = self.vocabulary.class(calculators()).unwrap_or(BREAK);
            self.in_value = false;
            self.want_class(class, self.weights.sums);
        }
        if self.unknown > 0.0 && is_question(sentence) {
            // The less of a question any tool speaks of, the more it is one of general knowledge.
            let class = self.vocabulary.class(general()).unwrap_or(BREAK);
            self.in_value = false;
            self.want_class(class, self.weights.general * self.unknown / self.counted);
        }
    }

    fn read_word(&mut self, text: &str, asked: f32, said: f32, pieces: &[WordTerm]) {
        self.in_value = said < 1.0;
        let has_digits = text.bytes().any(|byte| byte.is_ascii_digit());
        let word = QueryWord { text, weight: asked * said, has_digits };
        let mut stop = false;
        for (at, piece) in pieces.iter().enumerate() {
            if piece.role == TermRole::Stop && !self.stops {
                stop = true;
                self.last = BREAK;
            } else {
                self.read_piece(&word, *piece, &pieces[at + 1..]);
            }
        }
        if stop {
            self.query.joined.clear();
        } else {
            self.read_spellings(&word, pieces);
        }
    }

    /// Reads a term of a word, with those that come `after` it.
    fn read_piece(&mut self, word: &QueryWord<'_>, piece: WordTerm, after: &[WordTerm]) {
        let (weights, WordTerm { term, role, faint }) = (self.weights, piece);
        let mut weight = if faint { word.weight * weights.faint } else { word.weight };
        // Without spaces, a number and the words around it are one run.
        if word.has_digits && !matches!(role, TermRole::Pair | TermRole::Single) {
            weight *= weights.digits;
        }
        match role {
            TermRole::Stop | TermRole::Pair => {}
            TermRole::Part => self.read_part(term, weight),
            TermRole::Whole => weight *= weights.whole,
            TermRole::Single => weight *= weights.single,
            // Comes with the word, which is read before it.
            TermRole::Class => return,
        }
        if role.counts_plainly() && term != BREAK {
            self.query.plain.push(term);
        }
        self.want(term, weight);
        let held = self.vocabulary.holding(term);
        if role.has_classes() {
            let classes = || after.iter().take_while(|piece| piece.role == TermRole::Class);
            #[expect(clippy::cast_precision_loss, reason = "counts of tools and classes")]
            let shares = classes().count() as f32 * (1.0 + held as f32 / weights.class_held);
            let share = weights.class / shares;
            if share >= weights.class_least {
                for class in classes() {
                    self.want_class(class.term, weight * share);
                }
            }
        }
        if !faint && !word.has_digits && !self.in_value && role.counts_plainly() {
            self.counted += 1.0;
            self.unknown += if held == 0 { 1.0 } else { 0.0 };
            let held = held.max(1);
            let rarest = &mut self.query.rarest;
            *rarest = Some(rarest.map_or(held, |rarest| rarest.min(held)));
        }
    }

    /// Reads a part of a word, and its phrase with the part before it.
    fn read_part(&mut self, term: u32, weight: f32) {
        for &class in self.vocabulary.class_pair(self.last, term) {
            self.want_class(class, weight * self.weights.class_pair);
        }
        if self.in_value {
            self.last = BREAK;
            return;
        }
        if self.last != BREAK && term != BREAK {
            self.query.phrases.push((self.last, term));
        }
        self.last = term;
        self.query.words.push(term);
    }

    /// Looks a word up in the other spellings that a tool may have of it.
    fn read_spellings(&mut self, word: &QueryWord<'_>, pieces: &[WordTerm]) {
        let (weights, vocabulary, text) = (self.weights, self.vocabulary, word.text);
        words::fold(cut(text, words::MAX_WORD), &mut self.query.folded);
        let folded = &self.query.folded;
        let is_folded = folded == text;
        let weight = if word.has_digits { word.weight * weights.digits } else { word.weight };
        // The word in the spelling of a tool that writes it apart or together.
        let alias = (!is_folded).then(|| Some(vocabulary.surface(folded)?.first()?.term)).flatten();
        for term in [vocabulary.compound(folded), alias].into_iter().flatten() {
            if !pieces.iter().any(|piece| piece.term == term) {
                self.want(term, weight * weights.whole);
            }
        }
        self.read_compound(weight * weights.compound);
        // A word with a capital within a sentence is a name, and not misspelt.
        if !self.in_value && (is_folded || self.query.wanted.len() == self.from) {
            let before = self.query.wanted.len();
            self.read_misspelt(pieces, weight * weights.misspelt);
            self.unknown -= if self.query.wanted.len() > before { 1.0 } else { 0.0 };
        }
    }

    /// Looks the last word and this one up as one word.
    fn read_compound(&mut self, weight: f32) {
        let Query { joined, folded, .. } = &mut *self.query;
        let last = joined.len();
        joined.push_str(folded);
        if last > 0 && joined.len() <= words::MAX_WORD {
            let term = self.vocabulary.compound(joined);
            let term = term.or_else(|| Some(self.vocabulary.surface(joined)?.first()?.term));
            self.want(term.unwrap_or(BREAK), weight);
        }
        self.query.joined.drain(..last);
    }

    /// Looks the words up that this one, which no tool says, may stand for.
    fn read_misspelt(&mut self, pieces: &[WordTerm], weight: f32) {
        let [WordTerm { term, role: TermRole::Part, .. }] = *pieces else { return };
        if self.vocabulary.holding(term) > 0 || self.query.misspelt == MAX_MISSPELT {
            return;
        }
        self.query.misspelt += 1;
        let mut near = std::mem::take(&mut self.query.near);
        near.clear();
        self.vocabulary.near(&self.query.folded, &mut |spelling| near.push(spelling));
        if near.is_empty() {
            let stem = self.query.terms.joined(&[&self.query.folded]);
            self.vocabulary.near(&stem, &mut |spelling| near.push(spelling));
        }
        for near in near.iter().take(4) {
            let weight = if near.distance > 1 { weight / 2.0 } else { weight };
            self.want(near.term, weight);
        }
        self.query.near = near;
    }

    /// Counts a term.
    fn want(&mut self, term: u32, weight: f32) {
        self.add(QueryTerm { term, weight, count: 1, is_class: false, is_value: self.in_value });
    }

    /// Counts a class of a word.
    fn want_class(&mut self, term: u32, weight: f32) {
        self.add(QueryTerm { term, weight, count: 1, is_class: true, is_value: self.in_value });
    }

    fn add(&mut self, new: QueryTerm) {
        if new.term == BREAK {
            return;
        }
        let wanted = &mut self.query.wanted;
        let mut sentence = wanted[self.from..].iter_mut();
        if let Some(known) = sentence.find(|known| known.term == new.term) {
            known.weight = known.weight.max(new.weight);
            known.count += 1;
            known.is_value &= new.is_value;
        } else if wanted.len() < 2 * MAX_TERMS {
            wanted.push(new);
        }
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
