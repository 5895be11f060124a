//! The catalog, and searches in it.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, RwLockReadGuard};

use super::hit::{Hit, hit};
use super::index::{Filter, Index, IndexEntry};
use super::pattern::{Pattern, PatternError};
use super::plain;
use super::score::{self, Ranked, Scratch};
use crate::definition::ToolDefinition;
use crate::sync::RwLock;

/// The default number of hits of a search.
pub const DEFAULT_LIMIT: usize = 5;

/// The number of definitions added under one lock: a search waits for no more than that.
const BATCH: usize = 64;

/// An index over tool definitions, by name.
///
/// A catalog is a cheap handle: clones share the tools, and threads share the catalog. Searches run
/// beside each other and wait for a change only while one tool is written. A change is visible to
/// the next search; the index is never rebuilt for it.
///
/// ```
/// use serde_json::json;
/// use toolbox::{ToolDefinition, search::Catalog};
///
/// let catalog = Catalog::new();
/// let schema = json!({"type": "object", "properties": {"to": {"type": "string"}}});
/// catalog.add_from("gmail", ToolDefinition::new("send", "Sends an email", schema));
///
/// assert_eq!(catalog.search("write a mail").hits()[0].definition.name, "send");
/// assert_eq!(catalog.search("gmail").hits().len(), 1);
/// catalog.remove("send");
/// assert!(catalog.search("write a mail").hits().is_empty());
/// ```
#[derive(Clone, Default)]
pub struct Catalog {
    shared: Arc<RwLock<Index>>,
}

impl Catalog {
    /// Returns an empty catalog.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool; one of the same name is replaced and returned, and the new one takes its place
    /// among ties.
    pub fn add(&self, definition: impl Into<Arc<ToolDefinition>>) -> Option<Arc<ToolDefinition>> {
        self.write(|index| index.put(definition.into(), None))
    }

    /// Adds a tool of a server, such as `github`: a query that says the server's name finds its
    /// tools.
    ///
    /// A server that stands in the name (`github__create_issue`) need not be given.
    pub fn add_from(
        &self,
        server: &str,
        definition: impl Into<Arc<ToolDefinition>>,
    ) -> Option<Arc<ToolDefinition>> {
        self.write(|index| index.put(definition.into(), Some(server.into())))
    }

    /// Adds many tools; searches go on in between.
    pub fn extend<D: Into<Arc<ToolDefinition>>>(&self, definitions: impl IntoIterator<Item = D>) {
        self.extend_with(None, &mut definitions.into_iter().map(Into::into));
    }

    /// Adds many tools of a server; searches go on in between.
    pub fn extend_from<D: Into<Arc<ToolDefinition>>>(
        &self,
        server: &str,
        definitions: impl IntoIterator<Item = D>,
    ) {
        self.extend_with(Some(&server.into()), &mut definitions.into_iter().map(Into::into));
    }

    fn extend_with(
        &self,
        server: Option<&Arc<str>>,
        definitions: &mut dyn Iterator<Item = Arc<ToolDefinition>>,
    ) {
        loop {
            // The iterator is the caller's code, and runs before the lock is taken.
            let batch: Vec<_> = definitions.take(BATCH).collect();
            if batch.is_empty() {
                return;
            }
            self.write(|index| index.extend(batch, server));
        }
    }

    /// Removes a tool and returns it.
    #[expect(clippy::must_use_candidate, reason = "to take a tool out is enough")]
    pub fn remove(&self, name: &str) -> Option<Arc<ToolDefinition>> {
        self.write(|index| index.remove(name))
    }

    /// Removes all tools that were added from a server, and returns their number.
    #[expect(clippy::must_use_candidate, reason = "to take them out is enough")]
    pub fn remove_from(&self, server: &str) -> usize {
        self.write(|index| {
            let of_server = |entry: &&IndexEntry| entry.server.as_deref() == Some(server);
            let entries = index.entries().map(|(_, entry)| entry).filter(of_server);
            let names: Vec<_> = entries.map(|entry| entry.definition.name.clone()).collect();
            names.iter().filter(|name| index.remove(name).is_some()).count()
        })
    }

    /// Returns the tool of exactly this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<ToolDefinition>> {
        self.read().get(name).map(|entry| entry.definition.clone())
    }

    /// Returns the number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Returns `true` if there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Begins a search by words: a sentence, a few keywords, or a name.
    ///
    /// Any text is valid. Of a very long one, the first 16 KiB and the first 256 terms are read. A
    /// text that no tool has a word of finds nothing, and neither do tools that are worth less than
    /// a tenth of its rarest word.
    pub fn search<'s>(&'s self, query: &'s str) -> Search<'s> {
        Search::new(self, SearchMode::Words(query))
    }

    /// Begins a search by a regular expression, such as `^github_.*issue`.
    ///
    /// The pattern is looked for in each field by itself, so that `^` and `$` stand for the begin
    /// and the end of a name, a description or an argument. Tools whose name matches come first,
    /// then those with a match in the server's name, the title, the description, the name and at
    /// last the description of an argument; ties keep registration order. `(?i)` ignores case.
    /// Matching takes time linear in the text, whatever the pattern.
    ///
    /// # Errors
    ///
    /// [`PatternError`] if the pattern has more than
    /// [`MAX_PATTERN_CHARS`](super::MAX_PATTERN_CHARS) characters, is no valid expression, or
    /// compiles to something too large.
    pub fn search_pattern<'s>(&'s self, pattern: &str) -> Result<Search<'s>, PatternError> {
        Ok(Search::new(self, SearchMode::Pattern(Pattern::new(pattern)?)))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Index) -> T) -> T {
        change(&mut self.shared.write())
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.shared.read()
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("tools", &self.len()).finish()
    }
}

impl<D: Into<Arc<ToolDefinition>>> FromIterator<D> for Catalog {
    fn from_iter<I: IntoIterator<Item = D>>(definitions: I) -> Self {
        let catalog = Self::new();
        // Nobody else has it yet, so all tools are one batch.
        catalog.write(|index| index.extend(definitions.into_iter().map(Into::into), None));
        catalog
    }
}

/// The formula that ranks the tools.
///
/// ```
/// use serde_json::json;
/// use toolbox::ToolDefinition;
/// use toolbox::search::{Catalog, Ranking};
///
/// let catalog = Catalog::new();
/// catalog.add(ToolDefinition::new("list_issues", "Lists the issues", json!({"type": "object"})));
/// let textbook = Ranking::Plain { k1: 1.2, b: 0.75 };
/// let hits = catalog.search("open issues").ranking(textbook).hits();
/// assert_eq!(hits[0].definition.name, "list_issues");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Ranking {
    /// BM25 over fields, with additions tuned on requests and tools; the default.
    #[default]
    Tuned,
    /// The formula of the textbook (Robertson & Zaragoza 2009) over all fields as one text.
    ///
    /// A tool's score is the sum, over the terms of the query, of
    /// `ln(1 + (N - n + 0.5) / (n + 0.5))` times
    /// `tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length))`, for `n` of `N` tools that
    /// hold the term. Terms are words, split and stemmed as in the tuned ranking, without stop
    /// words.
    Plain {
        /// The saturation of repeated terms; usually 1.2.
        k1: f64,
        /// The penalty on long texts, from 0 to 1; usually 0.75.
        b: f64,
    },
}

impl Ranking {
    /// Returns the formula of the textbook with its usual numbers, `k1 = 1.2` and `b = 0.75`.
    #[must_use]
    pub fn plain() -> Self {
        Self::Plain { k1: 1.2, b: 0.75 }
    }
}

/// The query of a search: words, or a pattern.
#[derive(Debug)]
pub(super) enum SearchMode<'s> {
    Words(&'s str),
    Pattern(Pattern),
}

type OwnedFilter<'s> = Box<dyn Fn(&ToolDefinition) -> bool + Send + Sync + 's>;

/// A search that is about to run, from [`Catalog::search`] or [`Catalog::search_pattern`].
#[must_use = "a search runs when its hits are asked for"]
pub struct Search<'s> {
    pub(super) catalog: &'s Catalog,
    pub(super) mode: SearchMode<'s>,
    pub(super) limit: usize,
    pub(super) filter: Option<OwnedFilter<'s>>,
    pub(super) ranking: Ranking,
}

impl<'s> Search<'s> {
    fn new(catalog: &'s Catalog, mode: SearchMode<'s>) -> Self {
        let (limit, ranking) = (DEFAULT_LIMIT, Ranking::Tuned);
        Self { catalog, mode, limit, filter: None, ranking }
    }

    /// Sets the maximum number of hits. Default [`DEFAULT_LIMIT`]; any number is valid.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the ranking by words. A pattern has a ranking of its own.
    pub fn ranking(mut self, ranking: Ranking) -> Self {
        self.ranking = ranking;
        self
    }

    /// Excludes tools before the best are chosen, so that excluded tools do not count towards the
    /// limit.
    ///
    /// `keep` runs while the catalog is locked for reading. It must not change or search the same
    /// catalog, which would deadlock.
    pub fn filter(mut self, keep: impl Fn(&ToolDefinition) -> bool + Send + Sync + 's) -> Self {
        self.filter = Some(match self.filter.take() {
            None => Box::new(keep),
            Some(before) => Box::new(move |definition| before(definition) && keep(definition)),
        });
        self
    }

    /// Runs the search and returns the hits, best first.
    #[must_use]
    pub fn hits(&self) -> Vec<Hit> {
        self.run(self.limit).0
    }

    /// Returns the best `limit` hits, and the number of them that come first because the query is
    /// their name.
    pub(super) fn run(&self, limit: usize) -> (Vec<Hit>, usize) {
        let index = self.catalog.read();
        let filter = self.filter.as_deref();
        match &self.mode {
            SearchMode::Pattern(pattern) => (pattern.hits(&index, limit, filter), 0),
            SearchMode::Words(query) => with_scratch(|scratch| {
                scratch.query.read(query, &index.vocabulary, &index.weights);
                match self.ranking {
                    Ranking::Tuned => score::rank(&index, scratch, limit, filter),
                    Ranking::Plain { k1, b } => {
                        let hits = plain::rank(&index, &scratch.query, k1, b, limit, filter);
                        return (hits, 0);
                    }
                }
                let exact = pin(&index, scratch, query.trim(), limit, filter);
                let ranked = &scratch.candidates;
                let hit = |(at, ranked): (usize, &Ranked)| {
                    hit(&index, ranked.slot, f64::from(ranked.score), at)
                };
                (ranked.iter().enumerate().filter_map(hit).collect(), exact)
            }),
        }
    }
}

impl fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The query is a user's text, and stays out of logs.
        f.debug_struct("Search")
            .field("limit", &self.limit)
            .field("ranking", &self.ranking)
            .finish()
    }
}

/// Puts the tools whose name is the query before all others, and returns their number.
fn pin(
    index: &Index,
    scratch: &mut Scratch,
    name: &str,
    limit: usize,
    filter: Filter<'_>,
) -> usize {
    let Scratch { query, candidates, .. } = scratch;
    let entry = |slot: u32| index.slots[slot as usize].as_ref();
    query.exact.sort_unstable_by_key(|&slot| {
        entry(slot).map(|entry| (entry.definition.name != name, entry.order))
    });
    query.exact.dedup();
    let mut pinned = 0;
    let best = candidates.first().map_or(0.0, |ranked| ranked.score);
    for &slot in &query.exact {
        if pinned == limit || !index.passes(slot as usize, filter) {
            continue;
        }
        let own = candidates.iter().position(|ranked| ranked.slot == slot);
        let score = best + own.map_or(0.0, |at| candidates.remove(at).score) + 1.0;
        candidates.insert(pinned, Ranked { slot, score, answers: 0 });
        pinned += 1;
    }
    // Of several, the first is the better one whatever its words weigh.
    for at in (1..pinned).rev() {
        candidates[at - 1].score = candidates[at - 1].score.max(candidates[at].score);
    }
    candidates.truncate(limit);
    pinned
}

/// Lends the buffers of this thread, or fresh ones to a search within a search.
fn with_scratch<T>(run: impl FnOnce(&mut Scratch) -> T) -> T {
    thread_local! {
        static SCRATCH: RefCell<Option<Box<Scratch>>> = const { RefCell::new(None) };
    }
    let mut scratch = SCRATCH.take().unwrap_or_default();
    let value = run(&mut scratch);
    SCRATCH.set(Some(scratch));
    value
}
