//! `tools/list`: the tools in pages.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

#[cfg(feature = "mcp-server-http")]
use super::http::ParamHeader;
use super::protocol::{ProtocolError, ProtocolVersion, RequestId, list_response};
use crate::collection::{Snapshot, ToolBox};
use crate::definition::ToolDefinition;
use crate::dialect::{Dialect, lower};
use crate::sync::Mutex;
use crate::tool::Tool;

/// The tools of one generation of a box, in the form of the protocol.
pub(super) struct Listing {
    generation: u64,
    tools: Vec<Tool>,
    positions: HashMap<String, usize>,
    /// The definitions as JSON, in each form that versions know; written when a client of such a
    /// version asks first.
    texts: [OnceLock<Vec<String>>; 4],
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
        let positions =
            tools.iter().enumerate().map(|(at, tool)| (tool.name().to_owned(), at)).collect();
        let texts = std::array::from_fn(|_| OnceLock::new());
        Self {
            generation: snapshot.generation(),
            #[cfg(feature = "mcp-server-http")]
            param_headers: tools.iter().map(|_| OnceLock::new()).collect(),
            tools,
            positions,
            texts,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.positions.get(name).map(|&at| &self.tools[at])
    }

    /// Returns the arguments of a tool that HTTP requests repeat in headers.
    #[cfg(feature = "mcp-server-http")]
    pub(super) fn param_headers(&self, name: &str) -> &[ParamHeader] {
        let Some(&at) = self.positions.get(name) else { return &[] };
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

    /// Returns the answer to a request for the page at a cursor. `more` is what follows the tools.
    ///
    /// A cursor names the tools on both sides of the cut and its position, so it stays valid when
    /// the box changes between two pages: no remaining tool is repeated or skipped, unless both of
    /// these are gone.
    pub(super) fn page(
        &self,
        id: &RequestId,
        version: ProtocolVersion,
        cursor: Option<&str>,
        size: usize,
        more: &str,
    ) -> Result<Vec<u8>, ProtocolError> {
        let from = match cursor {
            None => 0,
            Some(cursor) => self.after(cursor).ok_or_else(|| {
                ProtocolError::invalid_params("the cursor is not one of this server's")
            })?,
        };
        let to = from.saturating_add(size.max(1)).min(self.tools.len());
        let next = self
            .tools
            .get(to)
            .map(|next| format!("{to}:{}:{}", self.tools[to - 1].name(), next.name()));
        Ok(list_response(id, "tools", &self.texts(version)[from..to], next.as_deref(), more))
    }

    fn after(&self, cursor: &str) -> Option<usize> {
        let mut parts = cursor.split(':');
        let position: usize = parts.next()?.parse().ok()?;
        let (last, next) = (parts.next()?, parts.next()?);
        let position_of = |name: &str| self.positions.get(name).copied();
        let from = position_of(last).map(|at| at + 1).or_else(|| position_of(next));
        Some(from.unwrap_or(position.saturating_sub(1)).min(self.tools.len()))
    }

    fn texts(&self, version: ProtocolVersion) -> &[String] {
        let form = match version {
            ProtocolVersion::V2024_11_05 | ProtocolVersion::V2025_03_26 => 0,
            ProtocolVersion::V2025_06_18 => 1,
            ProtocolVersion::V2025_11_25 => 2,
            ProtocolVersion::V2026_07_28 => 3,
        };
        let write = || {
            let definitions = self.tools.iter().map(Tool::definition);
            definitions.map(|definition| described(definition, version)).collect()
        };
        self.texts[form].get_or_init(write)
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
        let gone = [
            ("outputSchema", !takes_output),
            ("icons", !version.has_icons()),
            ("title", !version.has_structure()),
            ("_meta", !version.has_structure()),
        ];
        for (key, _) in gone.into_iter().filter(|(_, is_gone)| *is_gone) {
            fields.shift_remove(key);
        }
    }
    tool.to_string()
}
