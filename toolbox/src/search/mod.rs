//! Tool search: the right one of a hundred thousand tools, from an everyday sentence.
//!
//! A [`Catalog`] is an index over [definitions](crate::ToolDefinition). It ranks them by the words
//! of a query, finds them by a pattern, and needs no network and no model. Whatever is added,
//! replaced or taken out is visible to the next search.
//!
//! ```
//! use serde_json::json;
//! use toolbox::{ToolDefinition, search::Catalog};
//!
//! let catalog = Catalog::new();
//! for (name, description) in [
//!     ("createPullRequest", "Proposes changes for review"),
//!     ("convert_time", "Converts a time between timezones"),
//! ] {
//!     catalog.add(ToolDefinition::new(name, description, json!({"type": "object"})));
//! }
//!
//! let hits = catalog.search("open a pull request").limit(1).hits();
//! assert_eq!(hits[0].definition.name, "createPullRequest");
//!
//! let hits = catalog.search_pattern("(?i)^CONVERT_")?.hits();
//! assert_eq!(hits[0].definition.name, "convert_time");
//! # Ok::<(), toolbox::search::PatternError>(())
//! ```
//!
//! # How tools are ranked
//!
//! A tool whose name is the query, in whatever case and with whatever separators, comes first. The
//! others are ranked by BM25 over their fields: name, server, title, tags, description, argument
//! names, argument descriptions and the values an argument may have. Identifiers are taken apart
//! (`createPullRequest`, `HTTPServer2`), English words are stemmed, Chinese, Japanese, Korean and
//! Thai are compared by pairs of characters. Quoted text counts little, a misspelt word stands for
//! the nearest of the catalog, and what has next to nothing to do with a query is no hit: a query
//! may have none. The page `docs/search.md` of the repository has the method in full, and what it
//! reaches on public data.
//!
//! For the formula of the textbook, use [`Ranking::Plain`]; a model for meaning is added with
//! [`Embeddings`].

mod arithmetic;
mod catalog;
mod compact;
mod embed;
mod envelope;
mod explain;
mod fields;
mod gateway;
mod hit;
mod index;
mod lists;
mod marks;
mod names;
mod pattern;
mod payload;
mod phrases;
mod plain;
mod postings;
mod query;
mod reading;
mod schema;
mod score;
mod servers;
mod spelling;
mod term;
mod texts;
mod vocabulary;
mod weights;
mod words;

#[cfg(test)]
mod tests;

pub use catalog::{Catalog, DEFAULT_LIMIT, Ranking, Search};
#[cfg(any(feature = "knowledge", feature = "web-search"))]
pub(crate) use embed::points;
pub use embed::{EmbedError, Embedder, Embeddings};
pub use explain::{MatchedWord, SearchExplanation};
#[cfg(feature = "agent")]
pub(crate) use gateway::called_through;
#[cfg(feature = "cli")]
pub(crate) use gateway::executed;
pub use gateway::{EXECUTE, Gateway, SEARCH_PATTERN, SEARCH_WORDS};
pub use hit::Hit;
pub use pattern::{MAX_PATTERN_CHARS, PatternError};
