//! `tools/list`: the tools in pages.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ErrorData, Tool, ToolAnnotations};
use serde_json::{Map, Value};

use super::result::{icons, meta_object};
use super::version::ClientVersion;
use crate::collection::{Snapshot, ToolBox};
use crate::definition::ToolDefinition;
use crate::dialect::{Dialect, lower};

/// The tools of one generation of a box, in the form of the protocol.
pub(super) struct Listing {
    generation: u64,
    tools: Vec<Tool>,
    positions: HashMap<String, usize>,
    /// For each tool, `true` if HTTP requests repeat one of its arguments in a header.
    have_headers: Vec<bool>,
}

/// The cached listing of a box, rebuilt for each generation.
#[derive(Default)]
pub(super) struct Listings(Mutex<Option<Arc<Listing>>>);

impl Listings {
    pub(super) fn of(&self, toolbox: &ToolBox, with_deferred: bool) -> Arc<Listing> {
        let snapshot = toolbox.snapshot();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        let listed = |tool: &&crate::tool::Tool| {
            snapshot.permits(tool.name()) && (with_deferred || !tool.definition().deferred)
        };
        let tools: Vec<Tool> =
            snapshot.tools().filter(listed).map(|tool| described(tool.definition())).collect();
        let positions =
            tools.iter().enumerate().map(|(at, tool)| (tool.name.to_string(), at)).collect();
        let have_headers = tools.iter().map(names_a_header).collect();
        Self { generation: snapshot.generation(), tools, positions, have_headers }
    }

    pub(super) fn tools(&self) -> &[Tool] {
        &self.tools
    }

    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.positions.get(name).map(|&at| &self.tools[at])
    }

    /// Returns whether headers of an HTTP request may have to be checked against the arguments of a
    /// tool.
    pub(super) fn has_headers(&self, name: &str) -> bool {
        self.positions.get(name).is_some_and(|&at| self.have_headers[at])
    }

    /// Returns a page, and the cursor of the next.
    ///
    /// A cursor names the tools on both sides of the cut and its position, so it stays valid when
    /// the box changes between two pages: no remaining tool is repeated or skipped, unless both of
    /// these are gone.
    pub(super) fn page(
        &self,
        cursor: Option<&str>,
        size: usize,
    ) -> Result<(&[Tool], Option<String>), ErrorData> {
        let from = match cursor {
            None => 0,
            Some(cursor) => self.after(cursor).ok_or_else(|| {
                ErrorData::invalid_params("the cursor is not one of this server's", None)
            })?,
        };
        let to = from.saturating_add(size.max(1)).min(self.tools.len());
        let next = self
            .tools
            .get(to)
            .map(|next| format!("{to}:{}:{}", self.tools[to - 1].name, next.name));
        Ok((&self.tools[from..to], next))
    }

    fn after(&self, cursor: &str) -> Option<usize> {
        let mut parts = cursor.split(':');
        let position: usize = parts.next()?.parse().ok()?;
        let (last, next) = (parts.next()?, parts.next()?);
        let position_of = |name: &str| self.positions.get(name).copied();
        let from = position_of(last).map(|at| at + 1).or_else(|| position_of(next));
        Some(from.unwrap_or(position.saturating_sub(1)).min(self.tools.len()))
    }
}

fn described(definition: &ToolDefinition) -> Tool {
    let mut lowered = lower(definition, Dialect::Mcp);
    let mut take = |key: &str| match lowered.tool.get_mut(key).map(Value::take) {
        Some(Value::Object(schema)) => Some(Arc::new(schema)),
        _ => None,
    };
    let input = take("inputSchema").unwrap_or_default();
    let output = take("outputSchema");
    let hints = definition.annotations;
    let mut tool = Tool::new(lowered.name, definition.description.clone(), input);
    tool.title.clone_from(&definition.title);
    tool.output_schema = output;
    tool.icons = icons(&definition.icons);
    tool.meta = meta_object(Some(&definition.meta));
    tool.annotations = (!hints.is_empty() || definition.hint_title.is_some()).then(|| {
        ToolAnnotations::from_raw(
            definition.hint_title.clone(),
            hints.read_only,
            hints.destructive,
            hints.idempotent,
            hints.open_world,
        )
    });
    tool
}

/// Returns whether the schema may contain `x-mcp-header`. A false match in a description only costs
/// another look-up.
fn names_a_header(tool: &Tool) -> bool {
    let schema = serde_json::to_string(&*tool.input_schema);
    schema.is_ok_and(|text| text.contains("x-mcp-header"))
}

/// Returns the tool with only the fields that a client's version knows.
pub(super) fn for_version(mut tool: Tool, version: &ClientVersion) -> Tool {
    if !version.is_modern() {
        // Before 2026-07-28, structured results are objects only.
        let is_object =
            |schema: &Map<String, Value>| schema.get("type").is_some_and(|kind| kind == "object");
        tool.output_schema = tool.output_schema.filter(|schema| is_object(schema));
    }
    if !version.has_icons() {
        tool.icons = None;
    }
    if !version.has_structure() {
        (tool.title, tool.output_schema, tool.meta) = (None, None, None);
    }
    tool
}
