//! The tools of the box as the page lists, searches and describes them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::app_frames;
use super::notes::notes;
use crate::collection::ToolBox;
use crate::context::UNUSED_CONTEXT;
use crate::dialect::{Dialect, EstimatedTokens, TokenCounter as _};
use crate::search::{Catalog, Ranking, SearchExplanation};
use crate::sync::Mutex;
use crate::text::cut;
use crate::tool::Tool;

/// The bytes of a description in the list.
const SUMMARY: usize = 200;

/// The most hits of one search.
const MAX_HITS: usize = 50;

/// The dialects, with the names that the page has for them.
const DIALECTS: [(Dialect, &str); 6] = [
    (Dialect::OpenAiChat, "OpenAI Chat"),
    (Dialect::OpenAiResponses, "OpenAI Responses"),
    (Dialect::Anthropic, "Anthropic"),
    (Dialect::Gemini, "Gemini"),
    (Dialect::GeminiInteractions, "Gemini Interactions"),
    (Dialect::Mcp, "MCP"),
];

/// The list and the catalog of a box, made once for each of its generations.
#[derive(Default)]
pub(super) struct ToolIndex(Mutex<Option<IndexedTools>>);

/// The tools of one generation.
#[derive(Clone)]
struct IndexedTools {
    generation: u64,
    list: Arc<str>,
    catalog: Option<Catalog>,
}

impl ToolIndex {
    /// Returns the list of all tools as JSON text.
    pub(super) fn list(&self, toolbox: &ToolBox) -> Arc<str> {
        self.current(toolbox).list
    }

    fn current(&self, toolbox: &ToolBox) -> IndexedTools {
        let mut known = self.0.lock();
        let generation = toolbox.generation();
        match &*known {
            Some(known) if known.generation == generation => known.clone(),
            _ => {
                let tools = toolbox.tools();
                let shown = tools.iter().filter(|tool| toolbox.offers(tool, &UNUSED_CONTEXT));
                let tools: Vec<Value> = shown.map(|tool| summary(toolbox, tool)).collect();
                let list = json!({"generation": generation, "tools": tools}).to_string().into();
                known.insert(IndexedTools { generation, list, catalog: None }).clone()
            }
        }
    }

    /// Returns the catalog of the tools that may be called.
    pub(super) fn catalog(&self, toolbox: &ToolBox) -> Catalog {
        let current = self.current(toolbox);
        if let Some(catalog) = current.catalog {
            return catalog;
        }
        let catalog = Catalog::new();
        for tool in toolbox.tools() {
            if !toolbox.may_call(tool.name(), &UNUSED_CONTEXT) {
                continue;
            }
            let definition = Arc::clone(tool.shared_definition().arc());
            match tool.source() {
                Some(server) => catalog.add_from(server, definition),
                None => catalog.add(definition),
            };
        }
        if let Some(known) = &mut *self.0.lock()
            && known.generation == current.generation
        {
            known.catalog = Some(catalog.clone());
        }
        catalog
    }
}

fn tokens(tool: &Tool, dialect: Dialect) -> usize {
    EstimatedTokens.count(tool.shared_definition().listed(dialect).json.get())
}

/// Returns what the list shows of a tool.
fn summary(toolbox: &ToolBox, tool: &Tool) -> Value {
    let definition = tool.definition();
    json!({
        "name": tool.name(),
        "title": definition.display_title(),
        "version": definition.version(),
        "replaces": definition.replaces,
        "deprecated": definition.deprecated(),
        "server": tool.source(),
        "tags": definition.tags,
        "description": cut(definition.description.trim(), SUMMARY),
        "tokens": tokens(tool, Dialect::Anthropic),
        "read_only": definition.annotations.read_only,
        "destructive": definition.annotations.destructive,
        "approval": tool.inner().running.approval.is_needed(),
        "deferred": definition.deferred,
        "permitted": toolbox.permits(tool.name()),
        "lints": notes(tool).len(),
    })
}

/// Returns all that is known of a tool, also by a name that it had before.
pub(super) fn detail(toolbox: &ToolBox, name: &str) -> Option<Value> {
    let tool = toolbox.called(name).filter(|tool| toolbox.offers(tool, &UNUSED_CONTEXT))?;
    let definition = tool.definition();
    let dialects = DIALECTS.iter().map(|(dialect, label)| {
        let listed = tool.shared_definition().listed(*dialect);
        json!({
            "dialect": label,
            "name": &*listed.name,
            "json": listed.json,
            "strict": listed.strict,
            "strict_obstacle": listed.strict_obstacle,
            "losses": listed.losses.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "tokens": tokens(&tool, *dialect),
        })
    });
    let running = &tool.inner().running;
    let mut value = summary(toolbox, &tool);
    value["description"] = definition.description.as_str().into();
    value["name_at_server"] = tool.name_at_source().into();
    value["app"] = app_frames::uri_of(definition).into();
    value["origin"] = tool.origin().to_string().into();
    // As text, since a browser would round large numbers.
    value["schema"] = definition.input_schema.to_string().into();
    let output = definition.output_schema.as_ref();
    value["output_schema"] = output.map(ToString::to_string).into();
    value["annotations"] = json!(definition.annotations);
    value["examples"] = json!(definition.examples.iter().map(Value::to_string).collect::<Vec<_>>());
    value["lint_texts"] = notes(&tool).into();
    value["untrusted"] = definition.is_untrusted().into();
    value["blocking"] = running.blocking.into();
    value["background"] = running.background.into();
    value["durable"] = running.durable.into();
    value["dialects"] = dialects.collect();
    Some(value)
}

/// Returns the hits of a search, each with its reasons, or the fault of a pattern.
pub(super) fn search(
    catalog: &Catalog,
    ranking: Ranking,
    text: &str,
    is_pattern: bool,
    limit: usize,
) -> Result<Value, String> {
    let search = if is_pattern {
        catalog.search_pattern(text).map_err(|error| error.to_string())?
    } else {
        catalog.search(text)
    };
    let search = search.ranking(ranking).limit(limit.clamp(1, MAX_HITS));
    let hits = search.explained();
    Ok(json!({
        "tools": catalog.len(),
        "hits": hits.iter().map(explained).collect::<Vec<_>>(),
    }))
}

fn explained(found: &SearchExplanation) -> Value {
    let words = found.words.iter().map(|word| {
        json!({
            "asked": word.asked,
            "found": word.found,
            "fields": word.fields,
            "share": word.share,
        })
    });
    json!({
        "name": found.hit.definition.name,
        "server": found.hit.server.as_deref(),
        "score": found.hit.score,
        "rank": found.hit.rank,
        "named": found.is_named,
        "words": words.collect::<Vec<_>>(),
    })
}
