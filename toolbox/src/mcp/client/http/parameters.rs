//! Lists of tools on their way through rmcp, which learns from them which arguments of calls go
//! into headers too.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::{ListToolsResult, MetaObject, ServerResult, Tool};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::mcp::client::envelope::in_envelope;

/// The keyword that names the header of an argument.
const KEYWORD: &str = "x-mcp-header";
/// The metadata key of the list's text.
const RAW: &str = "toolbox/raw";
/// The metadata key of the names of tools with such arguments.
const NAMES: &str = "toolbox/names";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawTools<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    /// Present since the version of the protocol that has headers of arguments.
    result_type: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Annotated {
    name: String,
    input_schema: Map<String, Value>,
}

/// Wraps the text of a list. Tools with arguments that go into headers are added in rmcp's form,
/// which keeps those with valid annotations.
pub(super) fn in_envelope_with_headers(raw: &str) -> ServerResult {
    let mut has_headers = false;
    let annotated: Vec<&str> = match serde_json::from_str::<RawTools<'_>>(raw) {
        Ok(page) => {
            has_headers = page.result_type.is_some();
            let may_be_annotated = |tool: &&str| tool.contains(KEYWORD) || tool.contains(r"\u00");
            page.tools.iter().map(|tool| tool.get()).filter(may_be_annotated).collect()
        }
        Err(_) => Vec::new(),
    };
    if annotated.is_empty() {
        return in_envelope(raw);
    }
    let mut names = Vec::new();
    let mut tools = Vec::new();
    for text in annotated {
        if let Ok(named) = serde_json::from_str::<Named>(text) {
            names.push(Value::String(named.name));
        }
        // A deeper value could not be read again inside its message.
        let Ok([[[[[[[[tool]]]]]]]]) =
            serde_json::from_str::<Deep>(&format!("[[[[[[[[{text}]]]]]]]]"))
        else {
            continue;
        };
        // rmcp checks the same, but not before it has taken note of the server's version.
        if has_headers
            && !has_valid_headers(&tool.input_schema, Position::Root, &mut HashSet::new())
        {
            continue;
        }
        tools.push(Tool::new_with_raw(tool.name, None, Arc::new(tool.input_schema)));
    }
    let mut meta = MetaObject::new();
    meta.insert(RAW.to_owned(), Value::String(raw.to_owned()));
    meta.insert(NAMES.to_owned(), Value::Array(names));
    let mut list = ListToolsResult::with_all_items(tools);
    list.meta = Some(meta);
    ServerResult::ListToolsResult(list)
}

/// The position of a schema within the schema of a tool.
#[derive(Clone, Copy)]
enum Position {
    Root,
    /// Reached from the root through `properties` alone.
    Property,
    Elsewhere,
}

/// Returns whether each annotation of a schema is the name of a header, unlike the others, on a
/// string, an integer or a boolean that is reached through `properties` alone.
fn has_valid_headers(
    schema: &Map<String, Value>,
    position: Position,
    headers: &mut HashSet<String>,
) -> bool {
    let property =
        if matches!(position, Position::Elsewhere) { position } else { Position::Property };
    schema.iter().all(|(key, value)| match (key.as_str(), value) {
        (KEYWORD, Value::String(header)) => {
            let is_primitive = matches!(
                schema.get("type").and_then(Value::as_str),
                Some("string" | "integer" | "boolean")
            );
            matches!(position, Position::Property)
                && is_primitive
                && is_token(header)
                && headers.insert(header.to_ascii_lowercase())
        }
        (KEYWORD, _) => false,
        ("properties", Value::Object(map)) => {
            map.values().all(|below| has_valid_headers_below(below, property, headers))
        }
        (
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties",
            Value::Object(map),
        ) => map.values().all(|below| has_valid_headers_below(below, Position::Elsewhere, headers)),
        // Values, which may have a key of that name.
        ("default" | "const" | "enum" | "examples", _) => true,
        (_, below) => has_valid_headers_below(below, Position::Elsewhere, headers),
    })
}

fn has_valid_headers_below(
    value: &Value,
    position: Position,
    headers: &mut HashSet<String>,
) -> bool {
    match value {
        Value::Object(schema) => has_valid_headers(schema, position, headers),
        Value::Array(items) => {
            items.iter().all(|item| has_valid_headers_below(item, Position::Elsewhere, headers))
        }
        _ => true,
    }
}

/// Returns whether a text is a token of RFC 9110, as the name of a header has to be.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

type Deep = [[[[[[[[Annotated; 1]; 1]; 1]; 1]; 1]; 1]; 1]; 1];

/// The text of a list, and the names of the tools that cannot be called for what their headers
/// would be.
pub(in crate::mcp::client) struct WrappedPage {
    pub(in crate::mcp::client) raw: String,
    pub(in crate::mcp::client) refused: HashSet<String>,
}

/// Extracts a list wrapped here; `None` for any other.
pub(in crate::mcp::client) fn page_of(list: ListToolsResult) -> Option<WrappedPage> {
    let mut meta = list.meta?;
    let Value::String(raw) = meta.remove(RAW)? else { return None };
    let Value::Array(names) = meta.remove(NAMES)? else { return None };
    let names = names.iter().filter_map(Value::as_str).map(str::to_owned);
    let mut refused: HashSet<String> = names.collect();
    for tool in &list.tools {
        refused.remove(tool.name.as_ref());
    }
    Some(WrappedPage { raw, refused })
}
