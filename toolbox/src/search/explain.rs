//! Explanations of hits: the words of a request that a tool says, and the fields that say them.

use super::catalog::{Ranking, Search, SearchMode};
use super::fields::{Field, texts};
use super::hit::Hit;
use super::index::{Index, IndexEntry};
use super::query::Query;
use super::score;
use super::term::TermRole;
use super::words::{fold, words};

/// The most words of an explanation.
const MAX_WORDS: usize = 24;

/// A hit with its reasons, from [`Search::explained`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchExplanation {
    /// The hit.
    pub hit: Hit,
    /// The words that the request and the tool share, the weightiest first; none for a pattern.
    pub words: Vec<MatchedWord>,
    /// `true` if the request names the tool.
    pub is_named: bool,
}

/// A word that a request and a tool share.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MatchedWord {
    /// The word of the request; `None` if it is made of several, such as `time zone` for
    /// `timezone`.
    pub asked: Option<String>,
    /// The word of the tool, as it is written there. It may be another of the same stem or of the
    /// same meaning.
    pub found: String,
    /// The fields of the definition that hold it: `name`, `server`, `title`, `tags`, `description`,
    /// `argument`, `argument description`, `value`.
    pub fields: Vec<&'static str>,
    /// Its share of what all words weigh together in this tool, from 0 to 1. Words in a row, and
    /// the part of the name that was asked for, come on top of that in the score.
    pub share: f64,
}

/// A term of the query that a tool holds, on its way to a [`MatchedWord`].
struct MatchedTerm {
    term: u32,
    weight: f32,
}

impl Search<'_> {
    /// Runs the search, and returns the hits with their reasons, best first.
    ///
    /// It reads each hit once more, so it costs more than [`hits`](Self::hits).
    ///
    /// ```
    /// use serde_json::json;
    /// use toolbox::ToolDefinition;
    /// use toolbox::search::Catalog;
    ///
    /// let catalog = Catalog::new();
    /// let schema = json!({"type": "object", "properties": {}});
    /// catalog.add(ToolDefinition::new("send_mail", "Sends letters to people", schema));
    /// let found = catalog.search("send a letter").explained();
    /// let words: Vec<_> = found[0].words.iter().map(|word| (&*word.found, &word.fields[..])).collect();
    /// assert!(words.contains(&("send", &["name", "description"])));
    /// assert!(words.contains(&("letters", &["description"])));
    /// ```
    #[must_use]
    pub fn explained(&self) -> Vec<SearchExplanation> {
        let hits = self.run(self.limit).0;
        let index = self.catalog.read();
        let SearchMode::Words(text) = &self.mode else {
            let plain = |hit| SearchExplanation { hit, words: Vec::new(), is_named: false };
            return hits.into_iter().map(plain).collect();
        };
        let mut query = Query::default();
        query.read(text, &index.vocabulary, &index.weights);
        let asked = asked_words(text, &mut query, &index);
        let explained = |hit: Hit| {
            let slot = index.slot(&hit.definition.name);
            let words = slot.map(|slot| self.matched(&index, &query, &asked, slot));
            let is_named =
                slot.is_some_and(|slot| query.exact.contains(&slot) || query.named.contains(&slot));
            SearchExplanation { words: words.unwrap_or_default(), hit, is_named }
        };
        hits.into_iter().map(explained).collect()
    }

    fn matched(
        &self,
        index: &Index,
        query: &Query,
        asked: &[(u32, String)],
        slot: u32,
    ) -> Vec<MatchedWord> {
        let Some(entry) = &index.slots[slot as usize] else { return Vec::new() };
        let held = match self.ranking {
            Ranking::Tuned => tuned(index, query, slot),
            Ranking::Plain { .. } => plain(index, query, slot),
        };
        let sum: f32 = held.iter().map(|held| held.weight).sum();
        let mut words = Vec::new();
        for held in &held {
            let (found, fields) = places(index, entry, held.term);
            let Some(found) = found else { continue };
            let asked = asked.iter().find(|(term, _)| *term == held.term);
            let share = if sum > 0.0 { f64::from(held.weight / sum) } else { 0.0 };
            let asked = asked.map(|(_, word)| word.clone());
            let same = |word: &&mut MatchedWord| word.asked == asked && word.found == found;
            match words.iter_mut().find(same) {
                Some(word) => word.share += share,
                None => words.push(MatchedWord { asked, found, fields, share }),
            }
        }
        words.sort_by(|a, b| b.share.total_cmp(&a.share));
        words.truncate(MAX_WORDS);
        words
    }
}

/// Returns the terms of the query that a tool holds, with what they weigh there.
fn tuned(index: &Index, query: &Query, slot: u32) -> Vec<MatchedTerm> {
    let mut held: Vec<MatchedTerm> = Vec::new();
    for wanted in &query.wanted {
        let Some(weight) = score::weight_of(index, wanted, slot) else { continue };
        match held.iter_mut().find(|held| held.term == wanted.term) {
            Some(held) => held.weight = held.weight.max(weight),
            None => held.push(MatchedTerm { term: wanted.term, weight }),
        }
    }
    held
}

/// Returns the same for the formula of the textbook, by the rarity of the terms.
fn plain(index: &Index, query: &Query, slot: u32) -> Vec<MatchedTerm> {
    let mut held: Vec<MatchedTerm> = Vec::new();
    for &term in &query.plain {
        if index.postings.find(term, slot).is_none() {
            continue;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a share is shown")]
        let weight = score::idf(index.len(), index.vocabulary.holding(term) as usize) as f32;
        match held.iter_mut().find(|held| held.term == term) {
            Some(held) => held.weight += weight,
            None => held.push(MatchedTerm { term, weight }),
        }
    }
    held
}

/// Returns the words of a request by the terms that they led to.
fn asked_words(text: &str, query: &mut Query, index: &Index) -> Vec<(u32, String)> {
    let mut asked = Vec::new();
    let (mut pieces, mut folded) = (Vec::new(), String::new());
    for word in words(text).take(256) {
        query.pieces_of(word, &index.vocabulary, &mut pieces);
        let mut is_held = false;
        for piece in pieces.iter().filter(|piece| piece.role != TermRole::Stop) {
            is_held |= index.vocabulary.holding(piece.term) > 0;
            asked.push((piece.term, word.to_owned()));
        }
        if !is_held {
            fold(word, &mut folded);
            index.vocabulary.near(&folded, &mut |near| asked.push((near.term, word.to_owned())));
        }
    }
    asked
}

/// Returns the first word of a tool with a term, and the fields that hold one.
fn places(index: &Index, entry: &IndexEntry, term: u32) -> (Option<String>, Vec<&'static str>) {
    let (mut found, mut fields) = (None, Vec::new());
    texts(&entry.definition, entry.server.as_deref(), &mut |field, text| {
        for word in words(text) {
            let pieces = index.vocabulary.surface(word).unwrap_or_default();
            if pieces.iter().any(|piece| piece.term == term) {
                found.get_or_insert_with(|| word.to_owned());
                let name = field_name(field);
                if !fields.contains(&name) {
                    fields.push(name);
                }
            }
        }
    });
    (found, fields)
}

fn field_name(field: Field) -> &'static str {
    match field {
        Field::Name => "name",
        Field::Server => "server",
        Field::Title => "title",
        Field::Tags => "tags",
        Field::Description | Field::Detail => "description",
        Field::ArgumentName => "argument",
        Field::ArgumentDescription => "argument description",
        Field::Values => "value",
    }
}
