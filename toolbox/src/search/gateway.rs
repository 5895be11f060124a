//! Three tools in place of a thousand: two that search the others, and one that calls the tools
//! found.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::envelope::Envelope;
use super::{Catalog, EmbedError, Embedder, Embeddings, Hit, Ranking, Search};
use crate::call::{Arguments, FailureKind, ToolCall, ToolResult};
use crate::collection::{Snapshot, ToolBox, WeakToolBox};
use crate::context::promotion::Promotions;
use crate::context::{Taint, ToolContext};
use crate::definition::{CarriedTools, ToolAnnotations, ToolDefinition};
use crate::future::BoxFuture;
use crate::sync::Mutex;
use crate::text::quote;
use crate::tool::{Tool, Toolset};
use crate::validate::may_hide;

/// The name of the tool that searches by words.
pub const SEARCH_WORDS: &str = crate::context::promotion::SEARCH_TOOL;
/// The name of the tool that searches by a regular expression.
pub const SEARCH_PATTERN: &str = "toolbox_search_regex";
/// The name of the tool that calls a tool that was found.
pub const EXECUTE: &str = crate::definition::EXECUTE_TOOL;

/// The maximum number of hits a model can ask for.
const MOST_HITS: u8 = 20;

/// The number of candidates for each hit that is returned, to find those of other servers.
const POOL: usize = 3;

/// The most hits that are examined, however many tools one server has.
const MAX_POOL: usize = 4096;

/// The maximum size of a schema that is repeated in full when arguments do not fit it, in bytes.
const SCHEMA_BYTES: usize = 2048;

/// The maximum length of an error about unreadable arguments, which may repeat them, in characters.
const MESSAGE: usize = 400;

/// Lets a model find and call the deferred tools of a box by three tools in their place.
///
/// [Deferred](Tool::deferred) tools are left out of the list that is sent to a model. Registered in
/// the same box, the gateway adds `toolbox_search_bm25`, `toolbox_search_regex` and
/// `toolbox_execute` to that list: the model searches, reads the schemas of the tools it found, and
/// calls them. Such calls pass the same gate as any call; what may not be called is not found
/// either. The next search sees tools that were added or removed meanwhile.
///
/// ```
/// use toolbox::search::Gateway;
/// use toolbox::{tool, tools, ToolBox, ToolCall};
///
/// /// Get current time in a specific timezone
/// #[tool(deferred)]
/// fn time_get_current_time(
///     /// IANA timezone name
///     timezone: &str,
/// ) -> String {
///     format!("noon in {timezone}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let toolbox = ToolBox::from(tools![time_get_current_time]);
/// toolbox.register(Gateway::over(&toolbox));
/// assert_eq!(toolbox.definitions().len(), 3);
///
/// let call = ToolCall::new("1", "toolbox_search_bm25", r#"{"text":"time timezone"}"#);
/// let found = toolbox.call(call).await;
/// assert!(found.text().starts_with(r#"{"tools":[{"name":"time_get_current_time","#));
///
/// let arguments = r#"{"name":"time_get_current_time","arguments":{"timezone":"Asia/Tokyo"}}"#;
/// let result = toolbox.call(ToolCall::new("2", "toolbox_execute", arguments)).await;
/// assert_eq!(result.text(), "noon in Asia/Tokyo");
/// # }
/// ```
#[derive(Clone)]
pub struct Gateway {
    toolbox: WeakToolBox,
    catalog: Catalog,
    known: Arc<Mutex<CatalogTools>>,
    embeddings: Option<Arc<dyn EmbeddingRanker>>,
    usual_hits: usize,
    reply_bytes: usize,
    ranking: Ranking,
    promoted_steps: u32,
}

/// A search that ranks by meaning as well as by words, with the type of the embedder erased.
trait EmbeddingRanker: Send + Sync {
    fn hits<'a>(&'a self, search: &'a Search<'_>) -> BoxFuture<'a, Result<Vec<Hit>, EmbedError>>;
}

impl<E: Embedder> EmbeddingRanker for Embeddings<E> {
    fn hits<'a>(&'a self, search: &'a Search<'_>) -> BoxFuture<'a, Result<Vec<Hit>, EmbedError>> {
        Box::pin(search.hits_with(self))
    }
}

/// The content of the catalog, with the generation of the box it reflects.
#[derive(Default)]
struct CatalogTools {
    generation: Option<u64>,
    tools: HashMap<String, Arc<ToolDefinition>>,
}

impl Gateway {
    /// Returns a gateway to the deferred tools of a box. It does not keep the box alive.
    #[must_use]
    pub fn over(toolbox: &ToolBox) -> Self {
        Self {
            toolbox: toolbox.downgrade(),
            catalog: Catalog::new(),
            known: Arc::default(),
            embeddings: None,
            usual_hits: super::DEFAULT_LIMIT,
            reply_bytes: 16 << 10,
            ranking: Ranking::default(),
            promoted_steps: 0,
        }
    }

    /// Sets the number of tools that a search finds by default, from 1 to 20. Default 5.
    ///
    /// A number outside of that range counts as the nearest within.
    #[must_use]
    pub fn default_limit(mut self, tools: usize) -> Self {
        self.usual_hits = tools.clamp(1, MOST_HITS.into());
        self
    }

    /// Limits the text of one reply to a search, in bytes. Default 16 KiB.
    ///
    /// The best hit is always complete; of those that do not fit, the schemas are left out, then
    /// the rest.
    #[must_use]
    pub fn max_reply_bytes(mut self, bytes: usize) -> Self {
        self.reply_bytes = bytes;
        self
    }

    /// Sets the ranking of searches by words. Default [`Ranking::Tuned`]; [`Ranking::plain()`] is
    /// BM25 of the textbook.
    #[must_use]
    pub fn ranking(mut self, ranking: Ranking) -> Self {
        self.ranking = ranking;
        self
    }

    /// Lets tools that an agent's model found join the definitions of its next `steps` requests, so
    /// that it can call them by their own names, and a provider can hold it to their schemas.
    /// Default 0: they are called by `toolbox_execute`.
    ///
    /// Services with a tool search of their own need none of this; see
    /// `AgentBuilder::native_tool_search` (feature `agent`).
    #[must_use]
    pub fn promoting_for(mut self, steps: u32) -> Self {
        self.promoted_steps = steps;
        self
    }

    /// Ranks the hits of a search by words by their meaning as well, with a model of your own.
    /// Default: by words alone.
    ///
    /// If the model fails, the ranking by words is used, and the failure is logged.
    #[must_use]
    pub fn with_embeddings<E: Embedder + 'static>(mut self, embeddings: Embeddings<E>) -> Self {
        self.embeddings = Some(Arc::new(embeddings));
        self
    }

    /// Returns the catalog that is searched, as it is now.
    ///
    /// It holds the deferred tools of the box, whether or not they may be called.
    #[must_use]
    pub fn catalog(&self) -> Catalog {
        if let Some(toolbox) = self.toolbox.upgrade() {
            self.refresh(&toolbox.snapshot());
        }
        self.catalog.clone()
    }

    /// Brings the catalog up to date with the box.
    fn refresh(&self, snapshot: &Snapshot) {
        let mut known = self.known.lock();
        if known.generation == Some(snapshot.generation()) {
            return;
        }
        let mut gone = std::mem::take(&mut known.tools);
        let is_found =
            |tool: &&Tool| tool.definition().deferred && !tool.definition().is_for_apps();
        for tool in snapshot.tools().filter(is_found) {
            let definition = tool.shared_definition().arc();
            let before = gone.remove(&definition.name);
            if !before.is_some_and(|before| Arc::ptr_eq(&before, definition)) {
                match tool.source() {
                    Some(server) => self.catalog.add_from(server, Arc::clone(definition)),
                    None => self.catalog.add(Arc::clone(definition)),
                };
            }
            known.tools.insert(definition.name.clone(), Arc::clone(definition));
        }
        for name in gone.keys() {
            self.catalog.remove(name);
        }
        known.generation = Some(snapshot.generation());
    }

    /// Runs a search and returns the result for the model.
    async fn answer(
        &self,
        context: &ToolContext,
        limit: Option<f64>,
        search: Search<'_>,
    ) -> ToolResult {
        let Some(toolbox) = self.toolbox.upgrade() else {
            return ToolResult::failure(FailureKind::Infrastructure, "the toolbox is gone");
        };
        let snapshot = toolbox.snapshot();
        // A search reads the catalog when its hits are asked for.
        self.refresh(&snapshot);
        let may = |definition: &ToolDefinition| toolbox.may_call(&definition.name, context);
        let limit = limit.map_or(self.usual_hits, clamped);
        let mut search = search.filter(may);
        let mut pool = limit * POOL;
        let hits = loop {
            search = search.limit(pool);
            let hits = self.hits(&search).await;
            // Where one server fills the pool, the hits of others are further down. A model for
            // meaning is asked once.
            let is_enough = hits.len() < pool || can_be_shared(&hits, limit);
            if is_enough || pool >= MAX_POOL || self.embeddings.is_some() {
                break hits;
            }
            pool = (pool * 4).min(MAX_POOL);
        };
        let hits = shared(hits, limit);
        if let Some(taint) = context.get::<Taint>() {
            // Also those whose schemas do not fit into the reply: a service may load them by their
            // names.
            for hit in &hits {
                taint.show_definitions([&*hit.definition]);
            }
        }
        if let Some(promotions) = context.get::<Promotions>() {
            promotions.add(hits.iter().map(|hit| &hit.definition), self.promoted_steps);
        }
        let names = hits.iter().map(|hit| hit.definition.name.clone()).collect();
        ToolResult::new(self.reply(&hits)).with_references(names)
    }

    /// Runs a search by words, and by meaning where there is a model for it.
    async fn hits(&self, search: &Search<'_>) -> Vec<Hit> {
        let Some(embeddings) = &self.embeddings else { return search.hits() };
        embeddings.hits(search).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the model for meaning failed; words alone decide");
            search.hits()
        })
    }

    fn reply(&self, hits: &[Hit]) -> String {
        let mut left = self.reply_bytes;
        let mut tools: Vec<Box<RawValue>> = Vec::new();
        for hit in hits {
            let definition = &*hit.definition;
            let whole =
                ListedHit { schema: Some(&definition.input_schema), ..ListedHit::of(definition) };
            let short = ListedHit::of(definition);
            let fits = |text: &RawValue| text.get().len() < left;
            let text = [whole, short]
                .iter()
                .filter_map(|shown| serde_json::value::to_raw_value(shown).ok())
                .find(|text| tools.is_empty() || fits(text));
            let Some(text) = text else { break };
            left = left.saturating_sub(text.get().len() + 1);
            tools.push(text);
        }
        let note = match hits.len() - tools.len() {
            0 if hits.is_empty() => Some("nothing was found; try other words".to_owned()),
            0 => None,
            more => Some(format!("{more} more were found; search for fewer, or with other words")),
        };
        // Serializing such a value cannot fail.
        serde_json::to_string(&FoundTools { tools, note }).unwrap_or_default()
    }

    async fn execute(&self, context: &ToolContext, text: &str) -> ToolResult {
        let Some(toolbox) = self.toolbox.upgrade() else {
            return ToolResult::failure(FailureKind::Infrastructure, "the toolbox is gone");
        };
        let may_show = |tool: &str, key: &str| {
            toolbox.called(tool).is_some_and(|tool| {
                let definition = tool.definition();
                let declared = definition.input_schema.get("properties");
                !may_hide(Some(definition)) || declared.is_some_and(|all| all.get(key).is_some())
            })
        };
        let wanted = match Envelope::read(text, may_show) {
            Ok(wanted) => wanted,
            Err(what) => {
                return ToolResult::refusal(FailureKind::InvalidArguments, what);
            }
        };
        if [SEARCH_WORDS, SEARCH_PATTERN, EXECUTE].contains(&wanted.name.as_str()) {
            let text = format!("call `{}` by itself, not through `{EXECUTE}`", wanted.name);
            return ToolResult::error(text);
        }
        let call = ToolCall::new(context.call_id(), wanted.name, wanted.arguments);
        let call = call.at_line(context.line());
        let name = call.name.clone();
        let result = toolbox.call_hidden(context, call).await;
        let Some(tool) = toolbox.called(&name) else { return result };
        let definition = tool.definition();
        if result.failure_kind() == Some(FailureKind::InvalidArguments) {
            return with_schema(result, &definition.input_schema);
        }
        // The reader of the result knows no output schema, since it is that of another tool.
        if definition.output_schema.is_some() { result.read_as_structured() } else { result }
    }
}

/// Returns whether `limit` of the hits can be listed without more than its share for any server.
fn can_be_shared(hits: &[Hit], limit: usize) -> bool {
    let most = share_of(limit);
    let mut taken: HashMap<&str, usize> = HashMap::new();
    let listed = hits.iter().filter(|hit| {
        let Some(server) = hit.server.as_deref() else { return true };
        let count = taken.entry(server).or_default();
        *count += 1;
        *count <= most
    });
    listed.count() >= limit
}

/// Returns the most hits of one server among `limit`: three in five, rounded up.
fn share_of(limit: usize) -> usize {
    (limit * 3).div_ceil(5)
}

/// Distributes the hits over servers: one server gets at most three in five, as long as the hits
/// that replace its others score at least half as high. So a server that stuffs its descriptions
/// does not displace all others.
fn shared(hits: Vec<Hit>, limit: usize) -> Vec<Hit> {
    let most = share_of(limit);
    let (mut kept, mut over): (Vec<Hit>, Vec<Hit>) = (Vec::new(), Vec::new());
    for hit in hits {
        let of_it = |other: &&Hit| hit.server.is_some() && other.server == hit.server;
        if kept.iter().filter(of_it).count() < most { kept.push(hit) } else { over.push(hit) }
    }
    for hit in over {
        let worse = kept.iter().position(|other| other.score * 2.0 < hit.score);
        kept.insert(worse.unwrap_or(kept.len()), hit);
    }
    kept.truncate(limit);
    for (rank, hit) in (1..).zip(&mut kept) {
        hit.rank = rank;
    }
    kept
}

/// A hit as it is returned to the model.
#[derive(Serialize)]
struct ListedHit<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'a Value>,
}

impl<'a> ListedHit<'a> {
    fn of(definition: &'a ToolDefinition) -> Self {
        Self { name: &definition.name, description: &definition.description, schema: None }
    }
}

#[derive(Serialize)]
struct FoundTools {
    tools: Vec<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Returns the call that a call of the gateway makes, if it is one and names a tool.
#[cfg(feature = "agent")]
pub(crate) fn called_through(call: &ToolCall) -> Option<ToolCall> {
    let wanted =
        (call.name == EXECUTE).then(|| Envelope::read(call.arguments.as_str(), |_, _| false))?;
    let Envelope { name, arguments } = wanted.ok()?;
    Some(ToolCall::new(call.id.as_str(), name, arguments).at_line(call.line))
}

/// Returns the name of the tool that a call of the gateway with these arguments calls, if it can be
/// read.
#[cfg(feature = "cli")]
pub(crate) fn executed(arguments: &str) -> Option<String> {
    Envelope::read(arguments, |_, _| false).ok().map(|wanted| wanted.name)
}

/// Accepts any number for a limit by clamping it.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the number is small and not negative by then"
)]
fn clamped(limit: f64) -> usize {
    limit.clamp(1.0, f64::from(MOST_HITS)) as usize
}

/// Adds the part of a tool's schema that describes its arguments.
fn with_schema(result: ToolResult, schema: &Value) -> ToolResult {
    let failure = result.text().into_owned();
    let whole = schema.to_string();
    let relevant = if whole.len() <= SCHEMA_BYTES {
        whole
    } else {
        let named = |name: &String| failure.contains(&format!("`{name}"));
        let properties = schema["properties"].as_object().into_iter().flatten();
        let properties = properties.filter(|(name, _)| named(name));
        let parts: serde_json::Map<String, Value> =
            properties.map(|(name, schema)| (name.clone(), schema.clone())).collect();
        json!({ "properties": parts, "required": schema["required"] }).to_string()
    };
    let of_gate = result.is_of_gate();
    let result = result.with_text(format!("{failure}\nthe schema of its arguments: {relevant}"));
    if of_gate { result.marked_as_gate() } else { result }
}

#[diagnostic::do_not_recommend]
impl Toolset for Gateway {
    fn tools(self: Arc<Self>) -> Vec<Tool> {
        #[derive(Deserialize)]
        struct SearchArguments {
            text: String,
            limit: Option<f64>,
        }
        #[derive(Deserialize)]
        struct PatternArguments {
            pattern: String,
            limit: Option<f64>,
        }
        let about = format!("1 to {MOST_HITS}, default {}", self.usual_hits);
        let limit = json!({"type": "number", "description": about});
        let schema = |name: &str, about: &str| {
            json!({
                "type": "object",
                "properties": {name: {"type": "string", "description": about}, "limit": limit},
                "required": [name],
                "additionalProperties": false,
            })
        };
        let toolbox = self.toolbox.clone();
        let carried = CarriedTools::found_by(move |name| {
            let toolbox = toolbox.upgrade()?;
            let tool = toolbox.called(name)?;
            Some(Arc::clone(tool.shared_definition().arc()))
        });
        let (words, pattern, execute) = (Arc::clone(&self), Arc::clone(&self), self);
        let by_words = Tool::raw(
            SEARCH_WORDS,
            "Finds more tools by what they do. Search before you say that you cannot do something.",
            schema("text", "What to do"),
            move |context: ToolContext, arguments: Arguments| {
                let gateway = Arc::clone(&words);
                async move {
                    match arguments.parse::<SearchArguments>() {
                        Ok(SearchArguments { text, limit }) => {
                            let search = gateway.catalog.search(&text).ranking(gateway.ranking);
                            gateway.answer(&context, limit, search).await
                        }
                        Err(error) => ToolResult::error(quote(&error.to_string(), MESSAGE)),
                    }
                }
            },
        );
        let by_pattern = Tool::raw(
            SEARCH_PATTERN,
            "Finds more tools by a regular expression.",
            schema("pattern", "Such as `^github_.*issue`"),
            move |context: ToolContext, arguments: Arguments| {
                let gateway = Arc::clone(&pattern);
                async move {
                    let PatternArguments { pattern, limit } = match arguments.parse() {
                        Ok(wanted) => wanted,
                        Err(error) => {
                            return ToolResult::error(quote(&error.to_string(), MESSAGE));
                        }
                    };
                    match gateway.catalog.search_pattern(&pattern) {
                        Ok(search) => gateway.answer(&context, limit, search).await,
                        Err(error) => {
                            let kind = FailureKind::InvalidArguments;
                            let text = quote(&error.to_string(), MESSAGE);
                            ToolResult::failure(kind, text).with_code(error.code())
                        }
                    }
                }
            },
        );
        let call = Tool::raw(
            EXECUTE,
            "Calls a tool that was found.",
            Envelope::schema(),
            move |context: ToolContext, arguments: Arguments| {
                let gateway = Arc::clone(&execute);
                async move { gateway.execute(&context, arguments.as_str()).await }
            },
        );
        let looks = ToolAnnotations {
            read_only: Some(true),
            open_world: Some(false),
            ..ToolAnnotations::default()
        };
        vec![
            by_words.with_annotations(looks),
            by_pattern.with_annotations(looks),
            // The called tool has a time limit of its own, and reads its arguments itself.
            call.without_timeout().with_unchecked_arguments().forwarding().carrying(carried),
        ]
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("catalog", &self.catalog).finish_non_exhaustive()
    }
}
