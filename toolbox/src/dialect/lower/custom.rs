//! Tools that take a text in place of JSON.

use serde_json::{Value, json};

use crate::definition::{Grammar, ToolDefinition};
use crate::dialect::{Dialect, Loss};

/// The argument that gets the text.
const INPUT: &str = "input";

/// Returns the entry of a tool that takes a text, if it has a grammar and the provider knows such
/// tools.
pub(super) fn custom(
    definition: &ToolDefinition,
    dialect: Dialect,
    name: &str,
    losses: &mut Vec<Loss>,
) -> Option<Value> {
    let format = match definition.grammar.as_ref()? {
        Grammar::Text => json!({"type": "text"}),
        Grammar::Lark(text) => json!({"type": "grammar", "syntax": "lark", "definition": text}),
        Grammar::Regex(text) => json!({"type": "grammar", "syntax": "regex", "definition": text}),
    };
    if dialect == Dialect::OpenAiResponses && takes_one_text(&definition.input_schema.read()) {
        return Some(json!({
            "type": "custom",
            "name": name,
            "description": definition.description,
            "format": format,
        }));
    }
    losses.push(Loss::at_root("grammar", false));
    None
}

fn takes_one_text(schema: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_text = |own: &Value| own.get("type").is_some_and(|kind| kind == "string");
    let is_alone =
        properties.is_some_and(|all| all.len() == 1 && all.get(INPUT).is_some_and(is_text));
    let required = schema.get("required").and_then(Value::as_array);
    is_alone && required.is_some_and(|names| names.iter().any(|name| name == INPUT))
}
