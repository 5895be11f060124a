//! The tools of a catalog, with the postings of their terms.
//!
//! The weight of a term in a tool depends on that tool alone, so adding one tool touches the
//! postings of its own terms and nothing else. Of a removed tool, only its words remain in the
//! dictionary; they are swept when they outnumber the words in use.

use std::sync::Arc;

use super::compact::WordMap;
use super::fields::{FIELDS, Field, qualified, summary, texts};
use super::names::{Splitter, keys};
use super::postings::{Posting, PostingLists, SEVERAL};
use super::reading::ReadBuffers;
use super::term::narrow;
use super::texts::Texts;
use super::vocabulary::Vocabulary;
use super::weights::{FieldWeight, Weights};
use super::words::words;
use crate::definition::ToolDefinition;

/// The maximum number of words of one tool that are indexed. No hand-written description is longer.
const MAX_WORDS: usize = 4_096;

/// The number of dead words that are tolerated, however few others there are.
const MAX_DEAD: usize = 4_096;

/// A tool of the catalog.
#[derive(Debug)]
pub(super) struct IndexEntry {
    pub(super) definition: Arc<ToolDefinition>,
    pub(super) server: Option<Arc<str>>,
    /// The number of its server; tools of none have 0.
    pub(super) group: u32,
    /// The order of registration, for ties; a replacement keeps it.
    pub(super) order: u64,
    /// The sequence of terms, then each term that occurs [`SEVERAL`] times or more and its number
    /// of occurrences.
    terms: Box<[u32]>,
    sequence_len: u32,
    /// The number of terms of the sequence that belong to the name.
    pub(super) name_len: u16,
    /// The number of terms in all fields: the length of the tool for plain BM25.
    pub(super) length: u32,
}

impl IndexEntry {
    /// Returns the terms of name, server, title and description in order, with [`BREAK`] between
    /// terms that are not adjacent.
    pub(super) fn sequence(&self) -> &[u32] {
        &self.terms[..self.sequence_len as usize]
    }

    /// Returns the terms of the name.
    pub(super) fn name(&self) -> &[u32] {
        let sequence = self.sequence();
        &sequence[..sequence.len().min(self.name_len.into())]
    }

    /// Returns the number of occurrences of a term of which the tool has this posting.
    pub(super) fn count(&self, term: u32, posting: Posting) -> u32 {
        if posting.count() < SEVERAL {
            return posting.count().into();
        }
        let (repeated, _) = self.terms[self.sequence_len as usize..].as_chunks();
        let own = repeated.iter().find(|[repeated, _]| *repeated == term);
        own.map_or(SEVERAL.into(), |[_, count]| *count)
    }
}

/// A predicate for the tools that a search may find; `None` is all.
pub(super) type Filter<'f> = Option<&'f (dyn Fn(&ToolDefinition) -> bool + Send + Sync + 'f)>;

/// The data that a search reads.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) weights: Weights,
    pub(super) vocabulary: Vocabulary,
    pub(super) slots: Vec<Option<IndexEntry>>,
    free: Vec<u32>,
    by_name: WordMap<u32>,
    /// The servers by name, each with its number.
    servers: WordMap<u32>,
    /// The number of tools of each server, by the server's number.
    pub(super) server_tools: Vec<u32>,
    /// The texts that patterns are matched against.
    pub(super) texts: Texts,
    pub(super) postings: PostingLists,
    /// The number of terms that a tool holds.
    used: usize,
    pub(super) length: u64,
    order: u64,
    reading: ReadBuffers,
    splitter: Splitter,
    /// The spellings of the name that is added or removed.
    key: String,
}

impl Default for Index {
    fn default() -> Self {
        Self::new(Weights::TUNED)
    }
}

impl Index {
    pub(super) fn new(weights: Weights) -> Self {
        Self {
            weights,
            vocabulary: Vocabulary::default(),
            slots: Vec::new(),
            free: Vec::new(),
            by_name: WordMap::default(),
            servers: WordMap::default(),
            server_tools: vec![0],
            texts: Texts::default(),
            postings: PostingLists::default(),
            used: 0,
            length: 0,
            order: 0,
            reading: ReadBuffers::default(),
            splitter: Splitter::default(),
            key: String::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    pub(super) fn get(&self, name: &str) -> Option<&IndexEntry> {
        self.slots[*self.by_name.get(name)? as usize].as_ref()
    }

    pub(super) fn slot(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
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
        let Self { vocabulary, key, .. } = self;
        keys(&definition.name, server.as_deref(), key, &mut |key| vocabulary.add_name(key, slot));
        self.by_name.insert(&definition.name, slot);
        self.length += u64::from(self.reading.length);
        let group = self.group(&definition.name, server.as_deref());
        self.server_tools[group as usize] += 1;
        let reading = &mut self.reading;
        let sequence_len = narrow(reading.sequence.len());
        reading.append_repeated();
        self.slots[slot as usize] = Some(IndexEntry {
            group,
            order,
            terms: reading.sequence.as_slice().into(),
            sequence_len,
            name_len: u16::try_from(reading.name_len).unwrap_or(u16::MAX),
            length: reading.length,
            definition,
            server,
        });
        before.map(|entry| entry.definition)
    }

    /// Returns the number of the server of a tool.
    fn group(&mut self, name: &str, server: Option<&str>) -> u32 {
        let Some(server) = server.or_else(|| qualified(name).0) else { return 0 };
        let tools = &mut self.server_tools;
        *self.servers.get_or_insert_with(server, || {
            tools.push(0);
            narrow(tools.len() - 1)
        })
    }

    /// Adds many tools, each replacing the one of the same name.
    pub(super) fn extend(
        &mut self,
        definitions: impl IntoIterator<Item = Arc<ToolDefinition>>,
        server: Option<&Arc<str>>,
    ) {
        for definition in definitions {
            self.put(definition, server.cloned());
        }
    }

    /// Removes a tool.
    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<ToolDefinition>> {
        let entry = self.take(name)?;
        if let Some(&slot) = self.free.last() {
            // The slot that was freed just now has no text any more.
            self.reading.text.begin("");
            self.texts.put(slot, &self.reading.text);
        }
        if self.vocabulary.len().max(self.vocabulary.spellings() / 4) > 2 * self.used + MAX_DEAD {
            self.sweep();
        }
        Some(entry.definition)
    }

    fn take(&mut self, name: &str) -> Option<IndexEntry> {
        let slot = self.by_name.remove(name)?;
        let entry = self.slots[slot as usize].take()?;
        self.free.push(slot);
        let Self { vocabulary, key, .. } = self;
        keys(name, entry.server.as_deref(), key, &mut |key| vocabulary.remove_name(key, slot));
        // Reading it again gives the same terms, so nothing has to remember which they were.
        self.read(&entry.definition, entry.server.as_deref());
        for local in &self.reading.locals {
            if self.postings.remove(local.term, slot) {
                self.used -= usize::from(self.vocabulary.release(local.term));
            }
        }
        self.length -= u64::from(entry.length);
        self.server_tools[entry.group as usize] -= 1;
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
        let Self { reading, vocabulary, splitter, weights, .. } = self;
        reading.clear();
        let mut left = MAX_WORDS;
        reading.text.begin(&definition.name);
        texts(definition, server, &mut |field, text| {
            reading.text.push(field, text);
            let (text, rest) = if field == Field::Description { summary(text) } else { (text, "") };
            for (field, text) in [(field, text), (Field::Detail, rest)] {
                // All words, before any is looked at: the processor then fetches several at once.
                for word in words(text).take(left) {
                    left -= 1;
                    let numbers = vocabulary.learn(word);
                    if matches!(field, Field::Name | Field::Server) {
                        let mut terms = vocabulary.pieces(numbers.clone()).iter();
                        let is_known = terms.any(|term| term.is_known());
                        splitter.split(word, is_known, &definition.description, &mut |part| {
                            reading.note_part(vocabulary, part, field);
                        });
                    }
                    reading.found.push(numbers);
                }
                reading.note_found(vocabulary, field, weights.pair_length);
            }
            reading.end_text(field);
            if field == Field::Name {
                reading.name_len = reading.sequence.len();
                reading.note_compounds(vocabulary, words(text).take(MAX_WORDS));
            }
        });
    }

    /// Adds the terms of `self.reading` to the postings of a slot.
    fn insert(&mut self, slot: u32) {
        let Self { weights, reading, vocabulary, postings, used, .. } = self;
        let mut scale = [0.0; FIELDS];
        for ((scale, field), length) in scale.iter_mut().zip(&weights.fields).zip(reading.lengths) {
            let FieldWeight { boost, slope, usual } = *field;
            *scale = boost / (1.0 - slope + slope * length / usual);
        }
        for local in &reading.locals {
            let sum: f32 =
                local.counts.iter().zip(scale).map(|(&n, scale)| f32::from(n) * scale).sum();
            *used += usize::from(vocabulary.hold(local.term));
            let impact = quantized(sum / (weights.saturation + sum));
            postings.insert(local.term, slot, Posting::new(slot, impact, local.plain));
        }
    }
}

/// Returns a share as an integer of 16 bits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share lies between 0 and 1"
)]
fn quantized(share: f32) -> u16 {
    (share * 65_535.0 + 0.5) as u16
}
