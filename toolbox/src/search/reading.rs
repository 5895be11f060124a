//! One tool as terms, before they are put under it.

use super::fields::{FIELDS, Field};
use super::term::{BREAK, Role, WordTerm, narrow};
use super::texts::TextBuilder;
use super::words;

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
    /// For each term its place in `locals`, or [`BREAK`].
    place: Vec<u32>,
    pub(super) lengths: [f32; FIELDS],
    pub(super) sequence: Vec<u32>,
    pub(super) name_len: usize,
    pub(super) length: u32,
    pub(super) grams: Vec<u32>,
    folded: String,
    pub(super) joined: String,
    pub(super) text: TextBuilder,
}

pub(super) fn in_sequence(field: Field) -> bool {
    matches!(field, Field::Name | Field::Server | Field::Title | Field::Description)
}

impl ReadBuffers {
    pub(super) fn clear(&mut self) {
        for local in &self.locals {
            self.place[local.term as usize] = BREAK;
        }
        self.locals.clear();
        self.lengths = [0.0; FIELDS];
        self.sequence.clear();
        self.name_len = 0;
        self.length = 0;
        self.grams.clear();
    }

    pub(super) fn note(&mut self, piece: WordTerm, field: Field, pair_length: f32) {
        let WordTerm { term, role, .. } = piece;
        match role {
            Role::Part | Role::Pair => {
                let local = self.bump(term, field);
                local.plain = local.plain.saturating_add(1);
                self.length += 1;
                self.lengths[field as usize] += if role == Role::Part { 1.0 } else { pair_length };
                if role == Role::Part && in_sequence(field) {
                    self.sequence.push(term);
                }
            }
            Role::Stop if matches!(field, Field::Name | Field::Title) => {
                self.bump(term, field);
                self.lengths[field as usize] += 1.0;
            }
            Role::Stop if in_sequence(field) => self.sequence.push(BREAK),
            Role::Stop => {}
            Role::Whole | Role::Single | Role::Class => {
                self.bump(term, field);
            }
        }
    }

    pub(super) fn bump(&mut self, term: u32, field: Field) -> &mut Local {
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

    pub(super) fn note_grams(&mut self, word: &str) {
        let mut folded = std::mem::take(&mut self.folded);
        words::fold(words::cut(word, words::MAX_WORD), &mut folded);
        grams(&folded, &mut |gram| self.grams.push(gram));
        self.folded = folded;
    }
}

/// Visits the runs of four characters of a word, with a mark before its first.
pub(super) fn grams(folded: &str, visit: &mut dyn FnMut(u32)) {
    if !folded.is_ascii() || folded.len() < 3 {
        return;
    }
    let mut gram = u32::from(b'^');
    for (at, byte) in folded.bytes().enumerate() {
        gram = gram << 8 | u32::from(byte);
        if at >= 2 {
            visit(gram);
        }
    }
}
