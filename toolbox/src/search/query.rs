//! A query as the ranking reads it: terms with their weights, sentence by sentence.

use super::index::Index;
use super::lists::known;
use super::reading::grams;
use super::term::{BREAK, Role, WordTerm, key};
use super::words::{self, Terms, words};

/// The maximum number of bytes read of a query. A longer one is a document; its beginning says what
/// is wanted.
const MAX_TEXT: usize = 16 * 1024;

/// The maximum number of terms of a query, and of grams.
const MAX_TERMS: usize = 256;

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
}

/// A gram of the query.
#[derive(Debug, Clone, Copy)]
pub(super) struct WantedGram {
    pub(super) gram: u32,
    pub(super) sentence: u32,
    pub(super) count: u32,
}

/// A query as the ranking reads it.
#[derive(Debug, Default)]
pub(super) struct Query {
    pub(super) wanted: Vec<QueryTerm>,
    /// The end of each sentence in `wanted`.
    pub(super) sentences: Vec<usize>,
    pub(super) grams: Vec<WantedGram>,
    /// Adjacent terms, sorted.
    pub(super) phrases: Vec<(u32, u32)>,
    /// The words themselves, in order, without unknown ones.
    pub(super) words: Vec<u32>,
    /// The terms of the plain formula, repeated as in the query.
    pub(super) plain: Vec<u32>,
    /// Tools that are named within the query.
    pub(super) named: Vec<u32>,
    /// Tools whose name is the query, best first.
    pub(super) exact: Vec<u32>,
    terms: Terms,
    pieces: Vec<WordTerm>,
    folded: String,
    joined: String,
}

impl Query {
    /// Reads a query against the words of a catalog.
    pub(super) fn read(&mut self, text: &str, index: &Index) {
        self.wanted.clear();
        self.sentences.clear();
        self.grams.clear();
        self.phrases.clear();
        self.words.clear();
        self.plain.clear();
        self.named.clear();
        self.exact.clear();
        let text = words::cut(text, MAX_TEXT);
        self.read_name(text.trim(), index);
        self.read_sentences(text, index, false);
        if self.wanted.is_empty() {
            // A query of stop words alone means them.
            self.read_sentences(text, index, true);
        }
        self.read_identifiers(text, index);
        self.merge_grams();
        self.phrases.sort_unstable();
        self.phrases.dedup();
    }

    fn read_name(&mut self, text: &str, index: &Index) {
        if text.is_empty() || text.len() > MAX_NAME {
            return;
        }
        self.exact.extend_from_slice(index.by_key(&key(text)));
        let entry = |slot: u32| index.slots[slot as usize].as_ref();
        self.exact.sort_unstable_by_key(|&slot| {
            entry(slot).map(|entry| (entry.definition.name != text, entry.order))
        });
        self.exact.dedup();
    }

    /// Finds words that are written as identifiers, and the tools they name.
    fn read_identifiers(&mut self, text: &str, index: &Index) {
        let joins = |c: char| matches!(c, '_' | '-' | '.' | ':' | '/');
        let written = text.split(|c: char| !(c.is_alphanumeric() || joins(c)));
        for word in written.map(|word| word.trim_matches(joins)).filter(|w| w.len() <= MAX_NAME) {
            let camel = || {
                word.chars()
                    .zip(word.chars().skip(1))
                    .any(|(a, b)| a.is_lowercase() && b.is_uppercase())
            };
            if self.named.len() < 64 && word.len() > 3 && (word.contains(joins) || camel()) {
                self.named.extend(index.by_key(&key(word)).iter().take(8));
            }
        }
        self.named.sort_unstable();
        self.named.dedup();
    }

    fn read_sentences(&mut self, text: &str, index: &Index, stops: bool) {
        for sentence in sentences(text) {
            let from = self.wanted.len();
            self.read_sentence(sentence, index, from, stops);
            if self.wanted.len() > from {
                self.sentences.push(self.wanted.len());
            }
            if self.wanted.len() >= MAX_TERMS {
                break;
            }
        }
    }

    fn read_sentence(&mut self, sentence: &str, index: &Index, from: usize, stops: bool) {
        let weights = &index.weights;
        let base = if is_telling(sentence) { weights.telling } else { 1.0 };
        let number = u32::try_from(self.sentences.len()).unwrap_or(u32::MAX);
        let mut pieces = std::mem::take(&mut self.pieces);
        let mut last = BREAK;
        self.joined.clear();
        for word in words(sentence) {
            if self.wanted.len() >= MAX_TERMS {
                break;
            }
            self.pieces_of(word, index, &mut pieces);
            let digits = word.bytes().any(|byte| byte.is_ascii_digit());
            let mut stop = false;
            for &WordTerm { term, role, faint } in &pieces {
                let mut weight = if faint { base * weights.faint } else { base };
                // Without spaces, a number and the words around it are one run.
                if digits && !matches!(role, Role::Pair | Role::Single) {
                    weight *= weights.digits;
                }
                match role {
                    Role::Stop if !stops => {
                        stop = true;
                        last = BREAK;
                        continue;
                    }
                    Role::Stop | Role::Pair => {}
                    Role::Part => {
                        for &class in index.class_pair(last, term) {
                            self.want(from, class, weight * weights.class);
                        }
                        if last != BREAK && term != BREAK {
                            self.phrases.push((last, term));
                        }
                        last = term;
                        self.words.push(term);
                    }
                    Role::Whole => weight *= weights.whole,
                    Role::Single => weight *= weights.single,
                    Role::Class => weight *= weights.class,
                }
                if role.counts_plainly() && term != BREAK {
                    self.plain.push(term);
                }
                self.want(from, term, weight);
            }
            if stop {
                self.joined.clear();
                continue;
            }
            words::fold(words::cut(word, words::MAX_WORD), &mut self.folded);
            if !digits && self.grams.len() < MAX_TERMS {
                grams(&self.folded, &mut |gram| {
                    self.grams.push(WantedGram { gram, sentence: number, count: 1 });
                });
            }
            let weight = if digits { base * weights.digits } else { base };
            // The word in the spelling of a tool that writes it apart or together.
            let alias = index.surface(&self.folded).and_then(|pieces| Some(pieces.first()?.term));
            for term in [index.compound(&self.folded), alias].into_iter().flatten() {
                if !pieces.iter().any(|piece| piece.term == term) {
                    self.want(from, term, weight * weights.whole);
                }
            }
            self.read_compound(index, from, weight * weights.compound);
        }
        self.pieces = pieces;
    }

    /// Looks the last word and this one up as one word.
    fn read_compound(&mut self, index: &Index, from: usize, weight: f32) {
        let last = self.joined.len();
        self.joined.push_str(&self.folded);
        if last > 0 && self.joined.len() <= words::MAX_WORD {
            let term = index.compound(&self.joined);
            let term = term.or_else(|| Some(index.surface(&self.joined)?.first()?.term));
            self.want(from, term.unwrap_or(BREAK), weight);
        }
        self.joined.drain(..last);
    }

    /// Counts a term of the sentence that begins at `from`.
    fn want(&mut self, from: usize, term: u32, weight: f32) {
        if term == BREAK {
            return;
        }
        if let Some(wanted) = self.wanted[from..].iter_mut().find(|wanted| wanted.term == term) {
            wanted.weight = wanted.weight.max(weight);
            wanted.count += 1;
        } else if self.wanted.len() < 2 * MAX_TERMS {
            self.wanted.push(QueryTerm { term, weight, count: 1 });
        }
    }

    /// Writes the terms of a word, also of one that no tool says.
    fn pieces_of(&mut self, word: &str, index: &Index, pieces: &mut Vec<WordTerm>) {
        pieces.clear();
        if let Some(known) = index.surface(words::cut(word, words::MAX_WORD)) {
            pieces.extend_from_slice(known);
            return;
        }
        self.terms.of_word(word, &mut |part| {
            let text = part.text();
            let term = index.term(&text).unwrap_or(BREAK);
            let known = known(&text);
            let (role, faint) = Role::of(&part, known);
            pieces.push(WordTerm { term, role, faint });
            if role.has_classes() {
                for class in known.into_iter().flat_map(|known| &known.classes) {
                    let term = index.class(*class).unwrap_or(BREAK);
                    pieces.push(WordTerm { term, role: Role::Class, faint });
                }
            }
        });
    }

    /// Counts each gram once.
    fn merge_grams(&mut self) {
        self.grams.sort_unstable_by_key(|wanted| wanted.gram);
        self.grams.dedup_by(|next, first| {
            let same = next.gram == first.gram;
            first.count += u32::from(same);
            same
        });
    }
}

/// Returns the sentences of a text.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        for (at, c) in rest.char_indices() {
            // A full stop within a word or a number ends nothing.
            let spaced = || rest[at + 1..].chars().next().is_none_or(char::is_whitespace);
            let ends = match c {
                '.' | '!' | '?' | ';' => spaced(),
                _ => matches!(c, '\n' | '。' | '！' | '？' | '；'),
            };
            if ends {
                let sentence = &rest[..at];
                rest = &rest[at + c.len_utf8()..];
                return Some(sentence);
            }
        }
        Some(std::mem::take(&mut rest))
    })
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
