//! The texts of a tool, by the field they stand in.

use serde_json::{Map, Value};

use crate::ToolDefinition;

/// Where in a definition a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Name,
    Server,
    Title,
    Tags,
    Description,
    ArgumentName,
    ArgumentDescription,
    Values,
}

/// How many fields there are.
pub(super) const FIELDS: usize = 8;

/// What is read of one text, in bytes. A description longer than that is a document, and its end says little.
const MAX_TEXT: usize = 16 * 1024;

/// Schemas nested deeper than this are read no further.
const MAX_HEIGHT: usize = 8;

/// Schemas below one definition that are read.
const MAX_SCHEMAS: usize = 2_000;

/// Returns the server and the tool that a name says: `github__create_issue`, `mcp__github__create_issue`.
pub(super) fn qualified(name: &str) -> (Option<&str>, &str) {
    match name.rsplit_once("__") {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => (Some(server), tool),
        _ => (None, name),
    }
}

/// Calls `visit` with each text of a tool, field by field in the order of [`Field`].
pub(super) fn texts<'d>(
    definition: &'d ToolDefinition,
    server: Option<&'d str>,
    visit: &mut dyn FnMut(Field, &'d str),
) {
    let mut visit = |field, text: &'d str| visit(field, super::words::cut(text, MAX_TEXT));
    let (prefix, name) = qualified(&definition.name);
    visit(Field::Name, name);
    for server in prefix.into_iter().chain(server) {
        visit(Field::Server, server);
    }
    if let Some(title) = &definition.title {
        visit(Field::Title, title);
    }
    for tag in definition.tags.iter().take(100) {
        visit(Field::Tags, tag);
    }
    visit(Field::Description, &definition.description);
    // One walk a field keeps the fields apart without a list in between.
    for field in [Field::ArgumentName, Field::ArgumentDescription, Field::Values] {
        let mut left = MAX_SCHEMAS;
        schema(&definition.input_schema, field, 0, &mut left, &mut visit);
    }
}

fn schema<'d>(
    value: &'d Value,
    field: Field,
    height: usize,
    left: &mut usize,
    visit: &mut dyn FnMut(Field, &'d str),
) {
    let Value::Object(map) = value else { return };
    if height > MAX_HEIGHT || *left == 0 {
        return;
    }
    *left -= 1;
    if field == Field::ArgumentDescription && height > 0 {
        if let Some(text) = map.get("description").and_then(Value::as_str) {
            visit(field, text);
        }
    }
    if field == Field::Values {
        values(map, visit);
    }
    for (keyword, below) in map {
        match (keyword.as_str(), below) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                for (name, below) in named {
                    if field == Field::ArgumentName && keyword == "properties" {
                        visit(field, name);
                    }
                    schema(below, field, height + 1, left, visit);
                }
            }
            ("items" | "additionalProperties", _) => schema(below, field, height + 1, left, visit),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                for below in list {
                    schema(below, field, height + 1, left, visit);
                }
            }
            _ => {}
        }
    }
}

/// Visits the texts that an argument may be.
fn values<'d>(map: &'d Map<String, Value>, visit: &mut dyn FnMut(Field, &'d str)) {
    let listed = map.get("enum").and_then(Value::as_array).into_iter().flatten().take(100);
    for text in listed.chain(map.get("const")).filter_map(Value::as_str) {
        visit(Field::Values, text);
    }
}
