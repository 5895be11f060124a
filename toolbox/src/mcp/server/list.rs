//! `tools/list`: the tools in pages.

use std::sync::Arc;
#[cfg(feature = "mcp-server-http")]
use std::sync::OnceLock;

use serde_json::Value;

#[cfg(feature = "mcp-server-http")]
use super::http::ParamHeader;
use super::pages::{PageRequest, Pages, in_version};
use super::protocol::{ProtocolError, ProtocolVersion};
use crate::collection::{Snapshot, ToolBox};
use crate::definition::ToolDefinition;
use crate::dialect::{Dialect, lower};
use crate::sync::Mutex;
use crate::tool::Tool;

/// The tools of one generation of a box, in the form of the protocol.
pub(super) struct Listing {
    generation: u64,
    tools: Vec<Tool>,
    pages: Pages,
    /// The arguments of each tool that HTTP requests repeat in headers.
    #[cfg(feature = "mcp-server-http")]
    param_headers: Vec<OnceLock<Vec<ParamHeader>>>,
}

/// The cached listing of a box, rebuilt for each generation.
#[derive(Default)]
pub(super) struct Listings(Mutex<Option<Arc<Listing>>>);

impl Listings {
    pub(super) fn of(&self, toolbox: &ToolBox, with_deferred: bool) -> Arc<Listing> {
        let snapshot = toolbox.snapshot();
        let mut known = self.0.lock();
        match &*known {
            Some(listing) if listing.generation == snapshot.generation() => Arc::clone(listing),
            _ => {
                let listing = Arc::new(Listing::new(&snapshot, with_deferred));
                *known = Some(Arc::clone(&listing));
                listing
            }
        }
    }
}

impl Listing {
    fn new(snapshot: &Snapshot, with_deferred: bool) -> Self {
        let listed = |tool: &&Tool| {
            snapshot.permits(tool.name()) && (with_deferred || !tool.definition().deferred)
        };
        let tools: Vec<Tool> = snapshot.tools().filter(listed).cloned().collect();
        let pages = Pages::new(tools.iter().map(|tool| tool.name().to_owned()).collect());
        Self {
            generation: snapshot.generation(),
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
            let tool = lower(self.tools[at].definition(), Dialect::Mcp).tool;
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
        let definitions = self.tools.iter().map(Tool::definition);
        definitions.map(|definition| described(definition, version)).collect()
    }
}

/// Returns a definition as JSON, with only the fields that a version knows.
fn described(definition: &ToolDefinition, version: ProtocolVersion) -> String {
    let mut tool = lower(definition, Dialect::Mcp).tool;
    if let Some(fields) = tool.as_object_mut() {
        // Before 2026-07-28, structured results are objects only.
        let is_object = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "object");
        let takes_output = version.is_modern()
            || version.has_structure() && fields.get("outputSchema").is_some_and(is_object);
        if !takes_output {
            fields.shift_remove("outputSchema");
        }
    }
    in_version(tool, version)
}
