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
struct RawTools<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
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
    let annotated: Vec<&str> = match serde_json::from_str::<RawTools<'_>>(raw) {
        Ok(page) => {
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
        tools.push(Tool::new_with_raw(tool.name, None, Arc::new(tool.input_schema)));
    }
    let mut meta = MetaObject::new();
    meta.insert(RAW.to_owned(), Value::String(raw.to_owned()));
    meta.insert(NAMES.to_owned(), Value::Array(names));
    let mut list = ListToolsResult::with_all_items(tools);
    list.meta = Some(meta);
    ServerResult::ListToolsResult(list)
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
