//! The form of hosts, apart from those of model providers, so that a server without models links
//! none of them.

use serde_json::{Value, json};

use super::{loose, root, translate};
use crate::definition::ToolDefinition;
use crate::dialect::{Dialect, Loss, Lowered, outbound_name};
use crate::schema::walk::Object;
use crate::text::json_value;

/// Returns the entry of a tool in the list of an MCP server.
pub(crate) fn tool(definition: &ToolDefinition) -> Value {
    entry(definition, &outbound_name(&definition.name, Dialect::Mcp), &mut Vec::new())
}

pub(super) fn lowered(definition: &ToolDefinition) -> Lowered {
    let name = outbound_name(&definition.name, Dialect::Mcp).into_owned();
    let mut losses = Vec::new();
    let tool = entry(definition, &name, &mut losses);
    if !definition.examples.is_empty() {
        losses.push(Loss::at_root("examples", false));
    }
    if definition.namespace.is_some() {
        losses.push(Loss::at_root("namespace", false));
    }
    Lowered {
        name,
        tool,
        strict: false,
        strict_obstacle: None,
        losses,
        namespace: None,
        dialect: Dialect::Mcp,
    }
}

fn entry(definition: &ToolDefinition, name: &str, losses: &mut Vec<Loss>) -> Value {
    let own = definition.input_schema.read();
    let rooted = root::object(&translate::translated(&own, losses), losses);
    let schema = loose::for_hosts(rooted.schema);
    let mut tool = Object::new();
    tool.insert("name".to_owned(), name.into());
    if let Some(title) = &definition.title {
        tool.insert("title".to_owned(), title.as_str().into());
    }
    tool.insert("description".to_owned(), definition.description.as_str().into());
    tool.insert("inputSchema".to_owned(), schema);
    if let Some(output) = &definition.output_schema {
        let output = output.read();
        let output = translate::translated(&output, &mut Vec::new()).into_owned();
        tool.insert("outputSchema".to_owned(), output);
    }
    if !definition.annotations.is_empty()
        && let Some(annotations) = json_value(&definition.annotations)
    {
        tool.insert("annotations".to_owned(), annotations);
    }
    if let Some(title) = &definition.hint_title {
        let hints = tool.entry("annotations").or_insert_with(|| json!({}));
        hints["title"] = title.as_str().into();
    }
    if !definition.icons.is_empty()
        && let Some(icons) = json_value(&definition.icons)
    {
        tool.insert("icons".to_owned(), icons);
    }
    if !definition.meta.is_empty() {
        tool.insert("_meta".to_owned(), Value::Object(definition.meta.clone()));
    }
    Value::Object(tool)
}
