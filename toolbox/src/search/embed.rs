//! Ranking by meaning: an embedding model of the user, joined with the ranking by words.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::catalog::{Search, SearchMode};
use super::hit::{Hit, hit};
use crate::call::SharedError;
use crate::definition::ToolDefinition;
use crate::future::BoxFuture;
use crate::sync::Mutex;

/// Returns the score of a rank, from 1, where rankings are joined: `1 / (60 + rank)` (Cormack,
/// Clarke & Büttcher 2009, reciprocal rank fusion).
#[expect(clippy::cast_precision_loss, reason = "ranks")]
pub(crate) fn points(rank: usize) -> f64 {
    1.0 / (60.0 + rank as f64)
}

/// The number of hits of each ranking that are joined; more if more hits are asked for.
const DEPTH: usize = 50;

/// The share of words in a joined score; the rest is that of meaning.
const WORDS: f64 = 0.5;

/// The number of texts embedded in one request.
const BATCH: usize = 64;

/// A model that turns texts into vectors: near texts mean nearly the same.
///
/// Any model will do, local or remote; all vectors of one embedder have the same length.
///
/// ```
/// use toolbox::BoxFuture;
/// use toolbox::call::SharedError;
/// use toolbox::search::Embedder;
///
/// /// Counts vowels: too simple to be useful, and near texts are near.
/// struct Vowels;
///
/// impl Embedder for Vowels {
///     fn embed<'a>(
///         &'a self,
///         texts: &'a [String],
///     ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, SharedError>> {
///         let vector = |text: &String| {
///             ['a', 'e', 'i', 'o', 'u'].map(|vowel| text.matches(vowel).count() as f32).to_vec()
///         };
///         Box::pin(async move { Ok(texts.iter().map(vector).collect()) })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an embedder",
    label = "this turns no texts into vectors",
    note = "implement `toolbox::search::Embedder` for it: one method, over your own model or service"
)]
pub trait Embedder: Send + Sync {
    /// Returns one vector for each text, in their order.
    ///
    /// # Errors
    ///
    /// The error of the model.
    fn embed<'a>(
        &'a self,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, SharedError>>;
}

#[diagnostic::do_not_recommend]
impl<E: Embedder + ?Sized> Embedder for Arc<E> {
    fn embed<'a>(
        &'a self,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, SharedError>> {
        (**self).embed(texts)
    }
}

/// An embedder with the vectors of the tools it has seen.
///
/// Give it to [`Search::hits_with`]. Tools that are new to it are embedded when a search first
/// meets them; those that left the catalog are forgotten.
///
/// ```
/// use toolbox::search::{Catalog, Embedder, Embeddings, Hit};
///
/// async fn near(
///     catalog: &Catalog,
///     embeddings: &Embeddings<impl Embedder>,
///     words: &str,
/// ) -> Vec<Hit> {
///     match catalog.search(words).hits_with(embeddings).await {
///         Ok(hits) => hits,
///         Err(_) => catalog.search(words).hits(), // by words alone
///     }
/// }
/// ```
pub struct Embeddings<E> {
    embedder: E,
    vectors: Mutex<HashMap<String, EmbeddedTool>>,
}

/// A tool that was embedded, and its vector.
type EmbeddedTool = (Arc<ToolDefinition>, Arc<[f32]>);

impl<E: Embedder> Embeddings<E> {
    /// Returns an embedder that has seen no tool yet.
    pub fn new(embedder: E) -> Self {
        Self { embedder, vectors: Mutex::default() }
    }

    /// Returns each tool with its vector; the new ones are embedded.
    async fn vectors(
        &self,
        tools: &[(u32, Arc<ToolDefinition>)],
    ) -> Result<Vec<(u32, Arc<[f32]>)>, EmbedError> {
        let missing: Vec<Arc<ToolDefinition>> = {
            let mut known = self.vectors.lock();
            if known.len() > tools.len() {
                let live: std::collections::HashSet<&str> =
                    tools.iter().map(|(_, tool)| tool.name.as_str()).collect();
                known.retain(|name, _| live.contains(name.as_str()));
            }
            let is_new = |tool: &&Arc<ToolDefinition>| {
                known.get(&tool.name).is_none_or(|(seen, _)| !Arc::ptr_eq(seen, tool))
            };
            tools.iter().map(|(_, tool)| tool).filter(is_new).cloned().collect()
        };
        for batch in missing.chunks(BATCH) {
            let texts: Vec<String> =
                batch.iter().map(|tool| format!("{}: {}", tool.name, tool.description)).collect();
            let vectors = self.embed(&texts).await?;
            let mut known = self.vectors.lock();
            for (tool, vector) in batch.iter().zip(vectors) {
                known.insert(tool.name.clone(), (tool.clone(), vector));
            }
        }
        let known = self.vectors.lock();
        let vector = |(slot, tool): &(u32, Arc<ToolDefinition>)| {
            known.get(&tool.name).map(|(_, vector)| (*slot, vector.clone()))
        };
        Ok(tools.iter().filter_map(vector).collect())
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Arc<[f32]>>, EmbedError> {
        let vectors = self.embedder.embed(texts).await.map_err(EmbedError::Model)?;
        if vectors.len() != texts.len() {
            return Err(EmbedError::Count { texts: texts.len(), vectors: vectors.len() });
        }
        Ok(vectors.into_iter().map(normalized).collect())
    }
}

impl<E: fmt::Debug> fmt::Debug for Embeddings<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.vectors.lock().len();
        f.debug_struct("Embeddings")
            .field("embedder", &self.embedder)
            .field("tools", &known)
            .finish()
    }
}

impl Search<'_> {
    /// Runs the search by words and by meaning, and joins both rankings; a search by a pattern runs
    /// as without an embedder.
    ///
    /// A tool whose name is the query still comes first. The score of a hit is, at equal weights,
    /// that by words as a share of the best one, and the cosine by meaning on a scale from the
    /// average of all tools (0) to the best (1); one by name has 2 more.
    ///
    /// # Errors
    ///
    /// [`EmbedError::Model`] if the embedder fails, [`EmbedError::Count`] if it returns more or
    /// fewer vectors than texts.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, tools whose vectors have arrived stay embedded; nothing else
    /// remains.
    pub async fn hits_with<E: Embedder>(
        &self,
        embeddings: &Embeddings<E>,
    ) -> Result<Vec<Hit>, EmbedError> {
        let SearchMode::Words(query) = &self.mode else { return Ok(self.hits()) };
        let depth = self.limit.max(DEPTH);
        let (by_words, exact) = self.run(depth);
        let tools: Vec<(u32, Arc<ToolDefinition>)> = {
            let index = self.catalog.read();
            let keep =
                |definition: &ToolDefinition| self.filter.as_ref().is_none_or(|f| f(definition));
            let entries = index.entries().filter(|(_, entry)| keep(&entry.definition));
            entries.map(|(slot, entry)| (slot, entry.definition.clone())).collect()
        };
        let vectors = embeddings.vectors(&tools).await?;
        let asked = embeddings.embed(&[(*query).to_owned()]).await?;
        let by_meaning = calibrated(&vectors, &asked[0], depth);
        Ok(self.join(by_words, exact, by_meaning.iter().map(|&(near, at)| (near, &tools[at]))))
    }

    /// Adds up how well each tool fits by its words, of what the best does, and by its meaning.
    fn join<'t>(
        &self,
        by_words: Vec<Hit>,
        exact: usize,
        by_meaning: impl Iterator<Item = (f64, &'t (u32, Arc<ToolDefinition>))>,
    ) -> Vec<Hit> {
        let mut joined = by_words;
        // The score of a name that is the query says nothing of the others.
        let best = joined.get(exact).map_or(1.0, |hit| hit.score);
        for (at, found) in joined.iter_mut().enumerate() {
            // A name that is the query outweighs both rankings together.
            let pinned = if at < exact { 2.0 } else { 0.0 };
            found.score = pinned + WORDS * (found.score / best).min(1.0);
        }
        let index = self.catalog.read();
        for (near, (slot, definition)) in by_meaning {
            let near = (1.0 - WORDS) * near;
            if let Some(found) =
                joined.iter_mut().find(|found| Arc::ptr_eq(&found.definition, definition))
            {
                found.score += near;
            } else if index.slots[*slot as usize]
                .as_ref()
                .is_some_and(|entry| Arc::ptr_eq(&entry.definition, definition))
            {
                joined.extend(hit(&index, *slot, near, 0));
            }
        }
        joined.sort_by(|a, b| b.score.total_cmp(&a.score));
        joined.truncate(self.limit);
        for (rank, found) in (1..).zip(&mut joined) {
            found.rank = rank;
        }
        joined
    }
}

/// Returns the `depth` vectors nearest to the one that is asked for, nearest first, with how near
/// they are: from 0, as near as the vectors are on the average, to 1, the nearest.
///
/// Models differ in how near any two of their vectors are; that average takes it out.
#[expect(clippy::cast_precision_loss, reason = "a count of tools")]
fn calibrated(vectors: &[(u32, Arc<[f32]>)], asked: &[f32], depth: usize) -> Vec<(f64, usize)> {
    let cosine = |vector: &[f32]| -> f64 {
        vector.iter().zip(asked).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let mut near: Vec<(f64, usize)> =
        vectors.iter().enumerate().map(|(at, (_, vector))| (cosine(vector), at)).collect();
    let mean = near.iter().map(|near| near.0).sum::<f64>() / near.len().max(1) as f64;
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.truncate(depth);
    let span = near.first().map_or(0.0, |best| best.0 - mean);
    // Where all are equally near, there is nothing to tell them apart by.
    let calibrated = |cosine| if span > 1e-6 { (cosine - mean) / span } else { 1.0 };
    let near = near.into_iter().map(|(cosine, at)| (calibrated(cosine), at));
    near.filter(|(near, _)| *near > 0.0).collect()
}

/// An error of a search by meaning.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum EmbedError {
    /// The embedder failed.
    Model(SharedError),
    /// The embedder returned another number of vectors than it got texts.
    Count {
        /// The texts it got.
        texts: usize,
        /// The vectors it returned.
        vectors: usize,
    },
}

impl fmt::Display for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(_) => f.write_str("the embedder failed"),
            Self::Count { texts, vectors } => {
                write!(f, "the embedder returned {vectors} vectors for {texts} texts")
            }
        }
    }
}

impl std::error::Error for EmbedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Model(source) => Some(source.as_ref()),
            Self::Count { .. } => None,
        }
    }
}

/// Returns a vector of length 1 in the same direction, so that a product of two is their cosine.
fn normalized(mut vector: Vec<f32>) -> Arc<[f32]> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length.is_finite() && length > 0.0 {
        for x in &mut vector {
            *x /= length;
        }
    } else {
        vector.fill(0.0);
    }
    vector.into()
}
