//! The postings: for each term, the tools that hold it and its weight in each.
//!
//! The weight of a term in a tool depends on that tool alone, so adding one tool touches the
//! postings of its own terms and nothing else. Of a removed tool, only its words remain in the
//! dictionary; they are swept when they outnumber the words in use.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::compact::{Posting, Postings, WordMap};
use super::fields::{FIELDS, Field, qualified, texts};
use super::lists::{known, known_pairs};
use super::reading::{ReadBuffers, in_sequence};
use super::term::{BREAK, Role, WordTerm, key, narrow};
use super::texts::Texts;
use super::weights::{FieldWeight, Weights};
use super::words::{self, Term, TermKind, Terms, words};
use crate::definition::ToolDefinition;

type Map<K, V> = HashMap<K, V, RandomState>;

/// The maximum number of words of one tool that are indexed. No hand-written description is longer.
const MAX_WORDS: usize = 4_096;

/// The number of dead words that are tolerated, however few others there are.
const MAX_DEAD: usize = 4_096;

/// The range of a word's terms.
#[derive(Debug, Clone, Copy)]
struct Surface {
    from: u32,
    len: u16,
    /// `true` if a tool contains this very word; other words are parts of words in tools.
    is_literal: bool,
}

impl Surface {
    fn range(self) -> Range<usize> {
        self.from as usize..self.from as usize + usize::from(self.len)
    }
}

/// A tool of the catalog.
#[derive(Debug)]
pub(super) struct IndexEntry {
    pub(super) definition: Arc<ToolDefinition>,
    pub(super) server: Option<Arc<str>>,
    /// The order of registration, for ties; a replacement keeps it.
    pub(super) order: u64,
    /// The terms of name, server, title and description in order, with [`BREAK`] between terms that
    /// are not adjacent.
    pub(super) sequence: Box<[u32]>,
    /// The number of them that belong to the name.
    pub(super) name_len: u16,
    /// The number of terms in all fields: the length of the tool for plain BM25.
    pub(super) length: u32,
}

/// A predicate for the tools that a search may find; `None` is all.
pub(super) type Filter<'f> = Option<&'f (dyn Fn(&ToolDefinition) -> bool + Send + Sync + 'f)>;

/// The data that a search reads.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) weights: Weights,
    pub(super) slots: Vec<Option<IndexEntry>>,
    free: Vec<u32>,
    by_name: Map<String, u32>,
    /// Tools by their name in a spelling without case and separators.
    by_key: Map<String, Vec<u32>>,
    /// The texts that patterns are matched against.
    pub(super) texts: Texts,
    dictionary: WordMap<u32>,
    surfaces: WordMap<Surface>,
    pieces: Vec<WordTerm>,
    /// Terms of two words or more that a text may write as one, by that spelling.
    compounds: WordMap<u32>,
    postings: Vec<Postings>,
    grams: Map<u32, Postings>,
    classes: Vec<u32>,
    /// The classes of two words in a row. Their terms are the first of all, so that other pairs are
    /// recognized by their numbers.
    class_pairs: Map<(u32, u32), Vec<u32>>,
    is_class: Vec<bool>,
    paired: u32,
    used: usize,
    pub(super) length: u64,
    order: u64,
    terms: Terms,
    reading: ReadBuffers,
}

impl Default for Index {
    fn default() -> Self {
        Self::new(Weights::TUNED)
    }
}

impl Index {
    pub(super) fn new(weights: Weights) -> Self {
        let mut index = Self {
            weights,
            slots: Vec::new(),
            free: Vec::new(),
            by_name: Map::default(),
            by_key: Map::default(),
            texts: Texts::default(),
            dictionary: WordMap::default(),
            surfaces: WordMap::default(),
            pieces: Vec::new(),
            compounds: WordMap::default(),
            postings: Vec::new(),
            grams: Map::default(),
            classes: Vec::new(),
            class_pairs: Map::default(),
            is_class: Vec::new(),
            paired: 0,
            used: 0,
            length: 0,
            order: 0,
            terms: Terms::default(),
            reading: ReadBuffers::default(),
        };
        let pairs = known_pairs();
        let terms: Vec<_> =
            pairs.iter().map(|(a, b, class)| (index.intern(a), index.intern(b), *class)).collect();
        index.paired = narrow(index.postings.len());
        for (first, second, class) in terms {
            let class = index.intern_class(class);
            index.class_pairs.entry((first, second)).or_default().push(class);
        }
        index
    }

    /// Returns the classes of two terms in a row.
    pub(super) fn class_pair(&self, first: u32, second: u32) -> &[u32] {
        if first >= self.paired || second >= self.paired {
            return &[];
        }
        self.class_pairs.get(&(first, second)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    pub(super) fn get(&self, name: &str) -> Option<&IndexEntry> {
        self.slots[*self.by_name.get(name)? as usize].as_ref()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (u32, &IndexEntry)> {
        (0..).zip(&self.slots).filter_map(|(slot, entry)| Some((slot, entry.as_ref()?)))
    }

    /// Returns `true` if a search with this filter may find the tool of a slot.
    #[inline]
    pub(super) fn passes(&self, slot: usize, filter: Filter<'_>) -> bool {
        // A slot found by its postings always holds a tool; only a filter has to read it.
        let Some(keep) = filter else { return true };
        self.slots[slot].as_ref().is_some_and(|entry| keep(&entry.definition))
    }

    /// Returns the tools whose name is `key` but for case and separators.
    pub(super) fn by_key(&self, key: &str) -> &[u32] {
        self.by_key.get(key).map_or(&[], Vec::as_slice)
    }

    pub(super) fn postings(&self, term: u32) -> &[Posting] {
        self.postings[term as usize].as_slice()
    }

    pub(super) fn gram(&self, gram: u32) -> &[Posting] {
        self.grams.get(&gram).map_or(&[], Postings::as_slice)
    }

    pub(super) fn term(&self, text: &str) -> Option<u32> {
        self.dictionary.get(text).copied()
    }

    pub(super) fn compound(&self, folded: &str) -> Option<u32> {
        self.compounds.get(words::singular(folded)).copied()
    }

    pub(super) fn class(&self, class: u16) -> Option<u32> {
        self.classes.get(usize::from(class)).copied().filter(|&term| term != BREAK)
    }

    pub(super) fn is_class(&self, term: u32) -> bool {
        self.is_class.get(term as usize).copied().unwrap_or_default()
    }

    /// Returns the terms of a word that some tool contains as it is.
    pub(super) fn surface(&self, word: &str) -> Option<&[WordTerm]> {
        let surface = self.surfaces.get(word).filter(|surface| surface.is_literal)?;
        Some(&self.pieces[surface.range()])
    }

    pub(super) fn vocabulary(&self) -> usize {
        self.postings.len()
    }

    /// Adds a tool, replacing the one of the same name.
    pub(super) fn put(
        &mut self,
        definition: Arc<ToolDefinition>,
        server: Option<Arc<str>>,
    ) -> Option<Arc<ToolDefinition>> {
        let before = self.take(&definition.name);
        let order = before.as_ref().map_or(self.order, |entry| entry.order);
        self.order += u64::from(before.is_none());
        // A replacement gets the slot that was freed just now.
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("fewer tools than 2^32")
        });

        self.read(&definition, server.as_deref());
        self.insert(slot);
        self.texts.put(slot, &self.reading.text);
        let name = definition.name.clone();
        for key in keys(&name, server.as_deref()) {
            self.by_key.entry(key).or_default().push(slot);
        }
        self.by_name.insert(name, slot);
        self.length += u64::from(self.reading.length);
        let reading = &self.reading;
        self.slots[slot as usize] = Some(IndexEntry {
            order,
            sequence: reading.sequence.as_slice().into(),
            name_len: u16::try_from(reading.name_len).unwrap_or(u16::MAX),
            length: reading.length,
            definition,
            server,
        });
        before.map(|entry| entry.definition)
    }

    /// Removes a tool.
    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<ToolDefinition>> {
        let entry = self.take(name)?;
        if let Some(&slot) = self.free.last() {
            // The slot that was freed just now has no text any more.
            self.reading.text.begin("");
            self.texts.put(slot, &self.reading.text);
        }
        if self.postings.len().max(self.surfaces.len() / 4) > 2 * self.used + MAX_DEAD {
            self.sweep();
        }
        Some(entry.definition)
    }

    fn take(&mut self, name: &str) -> Option<IndexEntry> {
        let slot = self.by_name.remove(name)?;
        let entry = self.slots[slot as usize].take()?;
        self.free.push(slot);
        for key in keys(name, entry.server.as_deref()) {
            if let Some(list) = self.by_key.get_mut(&key) {
                list.retain(|&other| other != slot);
                if list.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
        // Reading it again gives the same terms, so nothing has to remember which they were.
        self.read(&entry.definition, entry.server.as_deref());
        for local in &self.reading.locals {
            self.used -= usize::from(self.postings[local.term as usize].remove(slot));
        }
        for gram in &self.reading.grams {
            if self.grams.get_mut(gram).is_some_and(|list| list.remove(slot)) {
                self.grams.remove(gram);
            }
        }
        self.length -= u64::from(entry.length);
        Some(entry)
    }

    /// Rebuilds the index without the words that no tool contains any more.
    fn sweep(&mut self) {
        let mut entries: Vec<IndexEntry> =
            std::mem::take(&mut self.slots).into_iter().flatten().collect();
        entries.sort_unstable_by_key(|entry| entry.order);
        let order = self.order;
        *self = Self::new(self.weights.clone());
        for entry in entries {
            self.order = entry.order;
            self.put(entry.definition, entry.server);
        }
        self.order = order;
    }

    /// Reads a tool into `self.reading`.
    fn read(&mut self, definition: &ToolDefinition, server: Option<&str>) {
        let mut reading = std::mem::take(&mut self.reading);
        reading.clear();
        let mut left = MAX_WORDS;
        reading.text.begin(&definition.name);
        texts(definition, server, &mut |field, text| {
            reading.text.push(field, text);
            for word in words(text).take(left) {
                left -= 1;
                let range = self.learn(word);
                for index in range {
                    let piece = self.pieces[index];
                    let last = reading.sequence.last().copied().unwrap_or(BREAK);
                    reading.note(piece, field, self.weights.pair_length);
                    if piece.role == Role::Part && in_sequence(field) {
                        for &class in self.class_pair(last, piece.term) {
                            reading.bump(class, field);
                        }
                    }
                }
                if matches!(field, Field::Name | Field::Server) {
                    reading.note_grams(word);
                }
            }
            if in_sequence(field) {
                reading.sequence.push(BREAK);
            }
            if field == Field::Name {
                reading.name_len = reading.sequence.len();
                self.learn_compounds(text, &mut reading);
            }
        });
        reading.grams.sort_unstable();
        self.reading = reading;
    }

    /// Returns the terms of a word; adds a new word to the dictionary.
    fn learn(&mut self, word: &str) -> Range<usize> {
        let word = words::cut(word, words::MAX_WORD);
        if let Some(surface) = self.surfaces.get_mut(word) {
            surface.is_literal = true;
            return surface.range();
        }
        let from = self.pieces.len();
        let mut terms = std::mem::take(&mut self.terms);
        terms.of_word(word, &mut |part| {
            // Parts recur in other words and in other case: their terms are looked up once.
            if let Some(known) = self.surfaces.get(part.folded)
                && part.kind == TermKind::Part
                && words::is_plain(part.folded)
            {
                self.pieces.extend_from_within(known.range());
                return;
            }
            let from = self.pieces.len();
            self.learn_part(part);
            if part.kind == TermKind::Part && words::is_plain(part.folded) {
                let surface = self.surface_from(from, false);
                self.surfaces.insert(part.folded, surface);
            }
        });
        self.terms = terms;
        let surface = self.surface_from(from, true);
        self.surfaces.insert(word, surface);
        surface.range()
    }

    fn surface_from(&self, from: usize, is_literal: bool) -> Surface {
        let len = u16::try_from(self.pieces.len() - from).expect("a word is cut to a few parts");
        Surface { from: narrow(from), len, is_literal }
    }

    fn learn_part(&mut self, part: Term<'_>) {
        let text = &*part.text();
        let term = self.intern(text);
        let known = known(text);
        let (role, faint) = Role::of(&part, known);
        self.pieces.push(WordTerm { term, role, faint });
        if part.kind == TermKind::Whole {
            self.compounds.insert(text, term);
        }
        if role.has_classes() {
            for &class in known.into_iter().flat_map(|known| &known.classes) {
                let term = self.intern_class(class);
                self.pieces.push(WordTerm { term, role: Role::Class, faint });
            }
        }
    }

    /// Makes each two adjacent words of a name findable as one word: `time_zone` by `timezone`.
    fn learn_compounds(&mut self, name: &str, reading: &mut ReadBuffers) {
        let mut terms = std::mem::take(&mut self.terms);
        let mut joined = std::mem::take(&mut reading.joined);
        let mut last = 0;
        joined.clear();
        for word in words(name).take(MAX_WORDS) {
            terms.parts_of(word, &mut |part| {
                joined.drain(..last);
                last = joined.len();
                joined.push_str(part);
                if last > 0 && joined.len() <= words::MAX_WORD {
                    let term = self.learn_compound(&joined);
                    reading.bump(term, Field::Name);
                }
            });
        }
        reading.joined = joined;
        self.terms = terms;
    }

    fn learn_compound(&mut self, folded: &str) -> u32 {
        let text = words::singular(folded);
        if let Some(&term) = self.compounds.get(text) {
            return term;
        }
        let term = self.intern(text);
        self.compounds.insert(text, term);
        term
    }

    fn intern(&mut self, text: &str) -> u32 {
        if let Some(&term) = self.dictionary.get(text) {
            return term;
        }
        let term = self.fresh();
        self.dictionary.insert(text, term);
        term
    }

    fn intern_class(&mut self, class: u16) -> u32 {
        let class = usize::from(class);
        if self.classes.len() <= class {
            self.classes.resize(class + 1, BREAK);
        }
        if self.classes[class] == BREAK {
            let term = self.fresh();
            self.is_class.resize(term as usize + 1, false);
            self.is_class[term as usize] = true;
            self.classes[class] = term;
        }
        self.classes[class]
    }

    fn fresh(&mut self) -> u32 {
        self.postings.push(Postings::None);
        narrow(self.postings.len() - 1)
    }

    /// Adds the terms of `self.reading` to the postings under a slot.
    fn insert(&mut self, slot: u32) {
        let weights = &self.weights;
        let reading = &self.reading;
        let mut scale = [0.0; FIELDS];
        for ((scale, field), length) in scale.iter_mut().zip(&weights.fields).zip(reading.lengths) {
            let FieldWeight { boost, slope, usual } = *field;
            *scale = boost / (1.0 - slope + slope * length / usual);
        }
        for local in &reading.locals {
            let sum: f32 =
                local.counts.iter().zip(scale).map(|(&n, scale)| f32::from(n) * scale).sum();
            let list = &mut self.postings[local.term as usize];
            self.used += usize::from(list.as_slice().is_empty());
            let impact = quantized(sum / (weights.saturation + sum));
            list.insert(Posting { slot, impact, count: local.plain });
        }
        #[expect(clippy::cast_precision_loss, reason = "a name has few grams")]
        let length = reading.grams.len() as f32 / USUAL_GRAMS;
        let norm = 1.0 - weights.gram_slope + weights.gram_slope * length;
        for run in reading.grams.chunk_by(|a, b| a == b) {
            let count = u16::try_from(run.len()).unwrap_or(u16::MAX);
            let sum = f32::from(count) / norm;
            let impact = quantized(sum / (1.2 + sum));
            self.grams.entry(run[0]).or_default().insert(Posting { slot, impact, count });
        }
    }
}

/// The usual number of grams of a name with its server.
const USUAL_GRAMS: f32 = 14.0;

/// Returns a share as an integer of 16 bits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share lies between 0 and 1"
)]
fn quantized(share: f32) -> u16 {
    (share * 65_535.0 + 0.5) as u16
}

/// Returns the names of a tool without case and separators: as it is, with its server, and without.
fn keys(name: &str, server: Option<&str>) -> impl Iterator<Item = String> {
    let whole = key(name);
    let bare = qualified(name).1;
    let bare = (bare.len() < name.len()).then(|| key(bare)).filter(|bare| *bare != whole);
    let with_server = server.map(|server| key(server) + &whole).filter(|key| *key != whole);
    let keys = [Some(whole), bare, with_server];
    keys.into_iter().flatten().filter(|key| !key.is_empty())
}
