//! Functions of tools.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::names::{TypeNames, camel, identifiers, snake};
use crate::text::{doc, literal};
use crate::types::{Direction, Types, is_required, present};

/// The names of types that the source means as they are.
const TYPES: [&str; 12] = [
    "Box",
    "Err",
    "None",
    "Ok",
    "Option",
    "Result",
    "Self",
    "Some",
    "String",
    "ToolBox",
    "ToolContext",
    "Vec",
];

/// Returns a module for each server.
pub(crate) fn modules<'s>(
    servers: impl Iterator<Item = (&'s str, &'s BTreeMap<String, Value>)>,
    krate: &str,
) -> String {
    let mut source = String::new();
    let servers: Vec<_> = servers.collect();
    let names: Vec<_> = servers.iter().map(|(server, _)| *server).collect();
    let names = identifiers(&names, |name| snake(name, "server"), &[]);
    for ((server, tools), name) in servers.into_iter().zip(names) {
        doc(&mut source, "", &format!("Tools of the MCP server `{server}`."));
        let _ = writeln!(
            source,
            "#[allow(dead_code, nonstandard_style, unreachable_pub, missing_docs, clippy::all, clippy::pedantic)]"
        );
        let _ = writeln!(source, "pub mod {name} {{");
        let _ = writeln!(
            source,
            "    use {krate}::client;\n    use {krate}::{{ToolBox, ToolContext}};\n"
        );
        let mut module = Module::new(server);
        let names: Vec<_> = tools.keys().map(String::as_str).collect();
        let functions = identifiers(&names, |name| snake(name, "tool"), &[]);
        for ((tool, definition), function) in tools.iter().zip(&functions) {
            module.add(tool, definition, function);
        }
        for line in module.source.trim_end().lines() {
            let indent = if line.is_empty() { "" } else { "    " };
            let _ = writeln!(source, "{indent}{line}");
        }
        source.push_str("}\n\n");
    }
    source.truncate(source.trim_end().len());
    source.push('\n');
    source
}

/// The functions and types of one server.
struct Module<'s> {
    server: &'s str,
    types: TypeNames,
    source: String,
}

impl<'s> Module<'s> {
    fn new(server: &'s str) -> Self {
        Self { server, types: TypeNames::without(&TYPES), source: String::new() }
    }

    /// Writes the function of a tool, and its types.
    fn add(&mut self, tool: &str, definition: &Value, function: &str) {
        let name = camel(tool, "Tool");
        let call = self.types.take(&format!("{name}Call"));
        let (required, begun, setters) = self.arguments(tool, definition, &name, function);
        let output = self.output(definition, &name);
        let text = definition["description"].as_str().unwrap_or_default();
        doc(&mut self.source, "", text);
        let known = format!("The tool `{tool}` of the server `{}`.", self.server);
        self.source.push_str(if text.trim().is_empty() { "" } else { "///\n" });
        doc(&mut self.source, "", &known);
        let parameter = required.map(|ty| format!("required: {ty}")).unwrap_or_default();
        let (method, output) = match output {
            Some(output) => ("call", output),
            None => ("call_untyped", "client::ToolResult".to_owned()),
        };
        let _ = write!(
            self.source,
            "pub fn {function}({parameter}) -> {call} {{
    {call}({begun})
}}

/// A call of [`{function}`], which [`call`](Self::call) makes.
#[derive(Debug, Clone)]
#[must_use = \"a call is made by `call`\"]
pub struct {call}(client::Request);

impl {call} {{
{setters}    /// Calls the tool in a box where the server is mounted.
    pub async fn call(self, toolbox: &ToolBox) -> Result<{output}, client::ClientError> {{
        self.0.{method}(toolbox, &ToolContext::new()).await
    }}

    /// Calls the tool in a context.
    pub async fn call_in(
        self,
        toolbox: &ToolBox,
        context: &ToolContext,
    ) -> Result<{output}, client::ClientError> {{
        self.0.{method}(toolbox, context).await
    }}
}}

"
        );
    }

    /// Writes the types of arguments. Returns that of the required ones, the request with them, and
    /// the methods that set the others.
    fn arguments(
        &mut self,
        tool: &str,
        definition: &Value,
        name: &str,
        function: &str,
    ) -> (Option<String>, String, String) {
        let schema = &definition["inputSchema"];
        let request = format!("client::Request::new({}, {})", literal(self.server), literal(tool));
        let known = schema["properties"].as_object();
        let missing = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let missing: Vec<_> =
            missing.filter(|own| known.is_none_or(|known| !known.contains_key(*own))).collect();
        let is_plain =
            ["$ref", "anyOf", "oneOf", "allOf"].iter().all(|key| schema.get(key).is_none());
        if !is_plain || !missing.is_empty() {
            let ty = "client::Map<String, client::Value>".to_owned();
            return (Some(ty), format!("{request}.with_all(required)"), String::new());
        }
        let (mut fields, mut setters, mut begun) = (String::new(), String::new(), request);
        let properties: Vec<_> = known.into_iter().flatten().collect();
        // Fields and methods are named apart.
        let (required, optional): (Vec<_>, Vec<_>) = properties
            .iter()
            .map(|(name, _)| name.as_str())
            .partition(|own| is_required(schema, own));
        let plain = |name: &str| snake(name, "argument");
        let mut required = identifiers(&required, plain, &[]).into_iter();
        let mut optional = identifiers(&optional, plain, &["call", "call_in"]).into_iter();
        let struct_name = self.types.take(name);
        let mut types = Types::new(Direction::Argument, schema, &mut self.types, &mut self.source);
        for (property, own) in properties {
            let ty = types.of(own, &format!("{name}{}", camel(property, "Argument")), 0);
            let text = own["description"].as_str().unwrap_or_default();
            if is_required(schema, property) {
                let Some(field) = required.next() else { break };
                doc(&mut fields, "    ", text);
                let _ = writeln!(fields, "    pub {field}: {ty},");
                let _ = write!(begun, "\n        .with({}, required.{field})", literal(property));
            } else {
                let Some(method) = optional.next() else { break };
                let ty = present(&ty);
                doc(
                    &mut setters,
                    "    ",
                    if text.is_empty() { "Sets the argument." } else { text },
                );
                let _ = write!(
                    setters,
                    "    pub fn {method}(self, value: {ty}) -> Self {{
        Self(self.0.with({}, value))
    }}

",
                    literal(property)
                );
            }
        }
        if fields.is_empty() {
            return (None, begun, setters);
        }
        let _ = write!(
            self.source,
            "/// The required arguments of [`{function}`].
#[derive(Debug, Clone, PartialEq)]
pub struct {struct_name} {{
{fields}}}

"
        );
        (Some(struct_name), begun, setters)
    }

    /// Writes the types of a result, and returns that of the whole.
    fn output(&mut self, definition: &Value, name: &str) -> Option<String> {
        let schema = definition.get("outputSchema").filter(|schema| schema.is_object())?;
        let mut types = Types::new(Direction::Output, schema, &mut self.types, &mut self.source);
        Some(types.of(schema, &format!("{name}Result"), 0))
    }
}
