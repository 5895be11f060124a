//! `tools/list`: the tools in pages.

use std::sync::Arc;
#[cfg(feature = "mcp-server-http")]
use std::sync::OnceLock;

use serde_json::{Map, Value};

#[cfg(feature = "mcp-server-http")]
use super::http::ParamHeader;
use super::pages::{PageRequest, Pages, in_version};
use super::protocol::{ProtocolError, ProtocolVersion};
use crate::collection::{Snapshot, ToolBox};
use crate::context::ToolContext;
use crate::context::keeper::ResultLimits;
use crate::definition::ToolDefinition;
use crate::dialect::mcp_tool;
use crate::sync::Mutex;
use crate::tool::Tool;

/// The key in the `_meta` of a tool for the number of characters that its results have at most.
/// Claude Code passes results of that size on, in place of those of its own limit.
const RESULT_SIZE: &str = "anthropic/maxResultSizeChars";

/// The estimated characters of a token.
const CHARACTERS: usize = 4;

/// Returns the characters that a result of a tool has at most before it is kept elsewhere; `None`
/// if only the limit in bytes holds, which leaves a host its own limit.
fn result_characters(limits: ResultLimits, tool: &Tool) -> Option<usize> {
    let tokens = tool.inner().running.result_tokens.unwrap_or(limits.tokens);
    (tokens < usize::MAX).then(|| tokens.saturating_mul(CHARACTERS).min(limits.bytes))
}

/// The tools of one generation of a box, in the form of the protocol.
pub(super) struct Listing {
    generation: u64,
    /// The limits beyond which results are kept elsewhere.
    limits: Option<ResultLimits>,
    tools: Vec<Tool>,
    pages: Pages,
    /// The arguments of each tool that HTTP requests repeat in headers.
    #[cfg(feature = "mcp-server-http")]
    param_headers: Vec<OnceLock<Vec<ParamHeader>>>,
}

/// The tools that are in a listing beside the usual ones.
#[derive(Clone, Copy)]
pub(super) struct ListedTools {
    /// Those that models find by a search.
    pub(super) deferred: bool,
    /// Those for the pages of apps.
    pub(super) for_apps: bool,
}

/// The cached listings of a box, without and with tools for apps; rebuilt for each generation. A
/// box whose tools are not available to all has one for each request.
#[derive(Default)]
pub(super) struct Listings([Mutex<Option<Arc<Listing>>>; 2]);

impl Listings {
    /// Returns the listing for a caller.
    pub(super) fn of(
        &self,
        toolbox: &ToolBox,
        listed: ListedTools,
        context: &ToolContext,
    ) -> Arc<Listing> {
        let snapshot = toolbox.snapshot();
        if snapshot.is_conditional() {
            let of_caller = |tool: &Tool| toolbox.offers(tool, context);
            let limits = toolbox.kept_result_limits();
            return Arc::new(Listing::new(&snapshot, listed, limits, of_caller));
        }
        let mut known = self.0[usize::from(listed.for_apps)].lock();
        match &*known {
            Some(listing) if listing.generation == snapshot.generation() => Arc::clone(listing),
            _ => {
                let limits = toolbox.kept_result_limits();
                let listing = Arc::new(Listing::new(&snapshot, listed, limits, |_| true));
                *known = Some(Arc::clone(&listing));
                listing
            }
        }
    }
}

impl Listing {
    fn new(
        snapshot: &Snapshot,
        listed: ListedTools,
        limits: Option<ResultLimits>,
        is_available: impl Fn(&Tool) -> bool,
    ) -> Self {
        let listed = |tool: &&Tool| {
            let definition = tool.definition();
            let is_wanted = if definition.is_for_apps() {
                listed.for_apps
            } else {
                listed.deferred || !definition.deferred
            };
            is_wanted && snapshot.permits(tool.name()) && is_available(tool)
        };
        let tools: Vec<Tool> = snapshot.tools().filter(listed).cloned().collect();
        let pages = Pages::new(tools.iter().map(|tool| tool.name().to_owned()).collect());
        Self {
            generation: snapshot.generation(),
            limits,
            #[cfg(feature = "mcp-server-http")]
            param_headers: tools.iter().map(|_| OnceLock::new()).collect(),
            tools,
            pages,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.pages.position(name).map(|at| &self.tools[at])
    }

    /// Returns the arguments of a tool that HTTP requests repeat in headers.
    #[cfg(feature = "mcp-server-http")]
    pub(super) fn param_headers(&self, name: &str) -> &[ParamHeader] {
        let Some(at) = self.pages.position(name) else { return &[] };
        self.param_headers[at].get_or_init(|| {
            let tool = mcp_tool(self.tools[at].definition());
            ParamHeader::all(&tool["inputSchema"])
        })
    }

    /// Returns whether clients of any version see the same tools in another listing.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let newest = ProtocolVersion::V2026_07_28;
        self.texts(newest) == other.texts(newest)
    }

    /// Returns the answer to a request for a page.
    pub(super) fn page(&self, request: &PageRequest<'_>) -> Result<Vec<u8>, ProtocolError> {
        self.pages.page(request, "tools", || self.written(request.version))
    }

    fn texts(&self, version: ProtocolVersion) -> &[String] {
        self.pages.texts(version, || self.written(version))
    }

    fn written(&self, version: ProtocolVersion) -> Vec<String> {
        let described = |tool: &Tool| {
            let characters = self.limits.and_then(|limits| result_characters(limits, tool));
            described(tool.definition(), version, characters)
        };
        self.tools.iter().map(described).collect()
    }
}

/// Returns a definition as JSON, with only the fields that a version knows.
fn described(
    definition: &ToolDefinition,
    version: ProtocolVersion,
    characters: Option<usize>,
) -> String {
    let mut tool = mcp_tool(definition);
    if let Some(fields) = tool.as_object_mut() {
        // Before 2026-07-28, structured results are objects only.
        let is_object = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "object");
        let takes_output = version.is_modern()
            || version.has_structure() && fields.get("outputSchema").is_some_and(is_object);
        if !takes_output {
            fields.shift_remove("outputSchema");
        }
        if let Some(characters) = characters {
            let meta = fields.entry("_meta").or_insert_with(|| Map::new().into());
            if let Some(meta) = meta.as_object_mut() {
                meta.entry(RESULT_SIZE).or_insert_with(|| characters.into());
            }
        }
    }
    in_version(tool, version)
}
