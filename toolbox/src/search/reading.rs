//! One tool as terms, before they are put under it.

use std::ops::Range;

use super::fields::{FIELDS, Field};
use super::postings::SEVERAL;
use super::term::{BREAK, TermRole, WordTerm, narrow};
use super::texts::TextBuilder;
use super::vocabulary::Vocabulary;

/// A term of the tool that is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Local {
    pub(super) term: u32,
    pub(super) counts: [u16; FIELDS],
    pub(super) plain: u16,
}

/// Buffers for reading one tool after another.
#[derive(Debug, Default)]
pub(super) struct ReadBuffers {
    pub(super) locals: Vec<Local>,
    /// The words of the text that is being read, as the numbers of their terms.
    pub(super) found: Vec<Range<usize>>,
    /// For each term its place in `locals`, or [`BREAK`].
    place: Vec<u32>,
    pub(super) lengths: [f32; FIELDS],
    pub(super) sequence: Vec<u32>,
    /// The last word before this one, whatever stop words are in between.
    last: u32,
    pub(super) name_len: usize,
    pub(super) length: u32,
    joined: String,
    pub(super) text: TextBuilder,
}

pub(super) fn in_sequence(field: Field) -> bool {
    matches!(field, Field::Name | Field::Server | Field::Title | Field::Description | Field::Detail)
}

impl ReadBuffers {
    pub(super) fn clear(&mut self) {
        for local in &self.locals {
            self.place[local.term as usize] = BREAK;
        }
        self.locals.clear();
        self.lengths = [0.0; FIELDS];
        self.sequence.clear();
        self.last = BREAK;
        self.name_len = 0;
        self.length = 0;
    }

    /// Adds the terms whose counts do not fit into their postings, each with its count, behind the
    /// sequence.
    pub(super) fn append_repeated(&mut self) {
        let repeated = self.locals.iter().filter(|local| local.plain >= SEVERAL);
        self.sequence.extend(repeated.flat_map(|local| [local.term, local.plain.into()]));
    }

    /// Reads the words of a text, which are in `found`.
    pub(super) fn note_found(&mut self, vocabulary: &Vocabulary, field: Field, pair_length: f32) {
        let mut found = std::mem::take(&mut self.found);
        for numbers in found.drain(..) {
            for &piece in vocabulary.pieces(numbers) {
                self.note(piece, field, pair_length);
                if piece.role == TermRole::Part && in_sequence(field) {
                    for &class in vocabulary.class_pair(self.last, piece.term) {
                        self.bump(class, field);
                    }
                    self.last = piece.term;
                }
            }
        }
        self.found = found;
    }

    /// Ends a text: its last word and the first of the next are no neighbours.
    pub(super) fn end_text(&mut self, field: Field) {
        if in_sequence(field) {
            self.sequence.push(BREAK);
            self.last = BREAK;
        }
    }

    /// Reads a word that is part of a longer one, which is counted already.
    pub(super) fn note_part(&mut self, vocabulary: &mut Vocabulary, part: &str, field: Field) {
        let numbers = vocabulary.learn(part);
        for piece in vocabulary.pieces(numbers) {
            if piece.role != TermRole::Stop {
                self.bump(piece.term, field);
            }
        }
    }

    /// Reads each two words of a name that follow each other as one.
    pub(super) fn note_compounds<'n>(
        &mut self,
        vocabulary: &mut Vocabulary,
        name: impl Iterator<Item = &'n str>,
    ) {
        let mut joined = std::mem::take(&mut self.joined);
        vocabulary.learn_compounds(name, &mut joined, &mut |term| {
            self.bump(term, Field::Name);
        });
        self.joined = joined;
    }

    fn note(&mut self, piece: WordTerm, field: Field, pair_length: f32) {
        let WordTerm { term, role, .. } = piece;
        if role == TermRole::Stop && !matches!(field, Field::Name | Field::Title) {
            if in_sequence(field) {
                self.sequence.push(BREAK);
            }
            return;
        }
        let local = self.bump(term, field);
        match role {
            TermRole::Part | TermRole::Pair => {
                local.plain = local.plain.saturating_add(1);
                self.length += 1;
                self.lengths[field as usize] +=
                    if role == TermRole::Part { 1.0 } else { pair_length };
                if role == TermRole::Part && in_sequence(field) {
                    self.sequence.push(term);
                }
            }
            TermRole::Stop => self.lengths[field as usize] += 1.0,
            TermRole::Whole | TermRole::Single | TermRole::Class => {}
        }
    }

    #[inline]
    fn bump(&mut self, term: u32, field: Field) -> &mut Local {
        let at = term as usize;
        if self.place.len() <= at {
            self.place.resize(at + at / 2 + 64, BREAK);
        }
        if self.place[at] == BREAK {
            self.place[at] = narrow(self.locals.len());
            self.locals.push(Local { term, counts: [0; FIELDS], plain: 0 });
        }
        let local = &mut self.locals[self.place[at] as usize];
        let count = &mut local.counts[field as usize];
        *count = count.saturating_add(1);
        local
    }
}
