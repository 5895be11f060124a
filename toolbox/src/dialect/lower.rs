//! Lowering of one definition into the entry of each provider's tool list, with the losses.

mod callers;
mod closed;
mod custom;
mod gemini;
mod keys;
mod loose;
mod mcp;
mod notes;
mod root;
mod strict;
#[cfg(test)]
mod tests;
mod translate;

use serde_json::{Value, json};

pub(crate) use mcp::tool as mcp_tool;

use super::dialect::{Dialect, Loss, Lowered};
use super::grouped::{grouped, namespace_in};
use super::names::outbound_name;
use crate::definition::ToolDefinition;
use crate::schema::walk::Object;
use crate::text;

/// Turns a definition into the entry of one provider's tool list.
///
/// Arguments are still checked against the definition's own schema; the entry has as much of it as
/// the provider accepts, and [`Lowered::losses`] lists the rest.
///
/// - **`OpenAI`**: strict when the schema can be expressed exactly in the strict subset, decided
///   for each tool; then optional properties become required unions with null, see
///   [`restore_optional`](super::restore_optional). Lengths, formats and defaults that strict mode
///   refuses move into descriptions. A definition that [asks for it](ToolDefinition::strict) is
///   closed and simplified first, so that nearly every schema becomes strict; the narrowed parts
///   are among the losses. Chat omits `strict` when it is off; Responses always sends it, because
///   the service would otherwise try strict mode by itself. There a tool with a
///   [grammar](crate::definition::Grammar) may take a text in place of JSON.
/// - **Anthropic**: the schema as it is, never strict: a request may hold 20 strict tools, and one
///   tool cannot decide which. Examples become `input_examples`.
/// - **Gemini**: `parametersJsonSchema`, because the older `parameters` does not support `$ref`,
///   `const` or `additionalProperties`; Interactions takes the same schema as `parameters`, ignores
///   lengths and counts of properties, and gets those as sentences too. A tool without arguments
///   leaves the schema unset.
/// - **MCP**: the schema as it is.
///
/// A schema of an older draft is written in the terms of draft 2020-12, and a keyword whose value
/// is of a wrong form is left out, since one such schema fails each request. The root is an object
/// with `properties` everywhere, whatever the schema was; model providers get a root union as one
/// object that takes each alternative's properties.
///
/// ```
/// use serde_json::json;
/// use toolbox::ToolDefinition;
/// use toolbox::dialect::{Dialect, lower};
///
/// let schema = json!({
///     "type": "object",
///     "properties": {"path": {"type": "string", "maxLength": 255}},
///     "required": ["path"],
///     "additionalProperties": false,
/// });
/// let definition = ToolDefinition::new("read_file", "Reads a file", schema);
/// let lowered = lower(&definition, Dialect::OpenAiChat);
/// assert!(lowered.strict);
/// assert_eq!(
///     lowered.losses[0].to_string(),
///     "`maxLength` at /properties/path: moved to the description",
/// );
/// ```
#[must_use]
pub fn lower(definition: &ToolDefinition, dialect: Dialect) -> Lowered {
    let name = outbound_name(&definition.name, dialect).into_owned();
    let mut losses = Vec::new();
    let mut description = definition.description.clone();
    let own = definition.input_schema.read();
    let own = translate::translated(&own, &mut losses);
    let mut rooted = root::single_object(&own, &mut losses);
    translate::followed_references(&mut rooted.schema, &mut losses);
    if let Some(note) = definition.deprecated() {
        description = text::deprecated(&description, note);
        rooted.schema.shift_remove("deprecated");
    }
    if let Some(note) = &rooted.note {
        description = notes::joined(&description, note);
    }
    if dialect == Dialect::Anthropic
        && let Some(note) = keys::named(&mut rooted.schema, &mut losses)
    {
        description = notes::joined(&description, &note);
    }
    if !definition.examples.is_empty() && dialect != Dialect::Anthropic {
        losses.push(Loss::at_root("examples", false));
    }

    let mut strict = false;
    let mut strict_obstacle = None;
    let mut schema = None;
    if matches!(dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses) {
        // The schema is closed only if that was asked for.
        let mut narrowed = Vec::new();
        let closed = definition.strict.then(|| closed::closed(&rooted.schema, &mut narrowed));
        let closed =
            closed.flatten().map(|schema| root::Rooted { schema, note: None, widened: false });
        match strict::strict(closed.as_ref().unwrap_or(&rooted)) {
            Ok((lowered, moved)) => {
                strict = true;
                schema = Some(lowered);
                losses.extend(narrowed);
                losses.extend(moved);
            }
            Err(obstacle) => strict_obstacle = Some(obstacle),
        }
    }
    let schema = schema.unwrap_or_else(|| loose::loose(rooted.schema, dialect, &mut losses));
    let mut tool = match dialect {
        Dialect::OpenAiChat => chat(&name, &description, strict, schema),
        Dialect::OpenAiResponses => json!({
            "type": "function",
            "name": name,
            "description": description,
            "strict": strict,
            "parameters": schema,
        }),
        Dialect::Anthropic => anthropic(definition, &name, &description, &schema),
        Dialect::Gemini => gemini(
            json!({"name": name, "description": description}),
            "parametersJsonSchema",
            schema,
        ),
        Dialect::GeminiInteractions => gemini(
            json!({"type": "function", "name": name, "description": description}),
            "parameters",
            schema,
        ),
        Dialect::Mcp => return mcp::lowered(definition),
    };
    if let Some(custom) = custom::custom(definition, dialect, &name, &mut losses) {
        tool = custom;
        strict = false;
        strict_obstacle = Some("the tool takes a text in place of JSON".to_owned());
    }
    callers::add(definition, dialect, &mut tool, &mut losses);
    if definition.answered_later && dialect == Dialect::OpenAiResponses {
        tool["async"] = true.into();
    }
    let namespace = namespace_in(definition, dialect).cloned();
    if definition.namespace.is_some() && namespace.is_none() {
        losses.push(Loss::at_root("namespace", false));
    }
    Lowered { name, tool, strict, strict_obstacle, losses, namespace, dialect }
}

fn chat(name: &str, description: &str, strict: bool, schema: Value) -> Value {
    let mut function = Object::new();
    function.insert("name".to_owned(), name.into());
    function.insert("description".to_owned(), description.into());
    if strict {
        function.insert("strict".to_owned(), true.into());
    }
    function.insert("parameters".to_owned(), schema);
    json!({"type": "function", "function": function})
}

fn anthropic(definition: &ToolDefinition, name: &str, description: &str, schema: &Value) -> Value {
    let mut tool = json!({"name": name, "description": description, "input_schema": schema});
    let examples: Vec<&Value> = definition.examples.iter().filter(|e| e.is_object()).collect();
    if !examples.is_empty() {
        tool["input_examples"] = json!(examples);
    }
    tool
}

/// Returns the tool with its schema under a key, unless it takes no arguments.
fn gemini(mut tool: Value, key: &str, schema: Value) -> Value {
    let no_properties = |map: &Value| map.as_object().is_some_and(Object::is_empty);
    let takes_more = schema.get("additionalProperties").is_some_and(|more| more != false)
        || schema.get("patternProperties").is_some();
    if takes_more || !schema.get("properties").is_none_or(no_properties) {
        tool[key] = schema;
    }
    tool
}

/// Returns the whole `tools` value of a request.
///
/// An array with one entry a tool, in order, and namespaces with theirs; for Gemini
/// `[{"functionDeclarations": [...]}]`, and `[]` without tools. All of `lowered` are expected to be
/// of one dialect; the first decides.
#[must_use]
pub fn list(lowered: &[Lowered]) -> Value {
    let tools = grouped(lowered.iter().map(|tool| (tool.namespace.as_ref(), &tool.tool)));
    match lowered.first() {
        Some(first) if first.dialect == Dialect::Gemini => json!([{"functionDeclarations": tools}]),
        _ => json!(tools),
    }
}
