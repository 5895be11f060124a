//! Functions of tools in TypeScript.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use serde_json::Value;

use crate::typescript::{SchemaTypes, comment_of, identifier, is_optional, key_of, literal};

/// The beginning of each file. Without types it is JavaScript: Node runs it as it is.
const HEAD: &str = r#"/** What calls a tool: the `Client` of `@modelcontextprotocol/sdk`, or any other. */
export interface McpClient {
    callTool(request: { name: string; arguments: { [key: string]: unknown } }): Promise<unknown>;
}

/** A call that failed, with what the server said. */
export class ToolFailed extends Error {
    readonly tool: string;
    readonly result: unknown;
    constructor(tool: string, result: unknown, message: string) {
        super(`${tool}: ${message}`);
        this.name = "ToolFailed";
        this.tool = tool;
        this.result = result;
    }
}
"#;

/// The functions by which results are read.
const RESULT: &str = r#"
interface Result {
    content?: Array<{ type: string; text?: string }>;
    structuredContent?: unknown;
    isError?: boolean;
}

async function result(client: McpClient, name: string, input: unknown): Promise<Result> {
    const result = (await client.callTool({ name, arguments: { ...(input as object) } })) as Result;
    if (result.isError === true) throw new ToolFailed(name, result, text(result));
    return result;
}

function text(result: Result): string {
    return (result.content ?? []).flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join("\n");
}
"#;

/// The function of tools without an output schema.
const AS_TEXT: &str = r"
async function asText(client: McpClient, name: string, input: unknown): Promise<string> {
    return text(await result(client, name, input));
}
";

/// The function of tools with one.
const AS_VALUE: &str = r#"
async function asValue<T>(client: McpClient, name: string, input: unknown): Promise<T> {
    const own = await result(client, name, input);
    if (own.structuredContent === undefined) throw new ToolFailed(name, own, "the result has no structure");
    return own.structuredContent as T;
}
"#;

/// The names that a function of a module cannot have: words of the language, what the compiler keeps
/// for itself, and those above.
const TAKEN: &[&str] = &[
    "Error",
    "Object",
    "Promise",
    "ToolFailed",
    "arguments",
    "asText",
    "asValue",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "client",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "exports",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "require",
    "result",
    "return",
    "static",
    "super",
    "switch",
    "text",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Returns a module with a function for each server, which returns the functions of its tools.
pub(crate) fn module<'s>(
    servers: impl Iterator<Item = (&'s str, &'s BTreeMap<String, Value>)>,
) -> String {
    let mut source = HEAD.to_owned();
    let mut used = [(RESULT, false), (AS_TEXT, false), (AS_VALUE, false)];
    let mut types = SchemaTypes::exported();
    let mut taken: HashSet<String> = TAKEN.iter().map(|&name| name.to_owned()).collect();
    let mut functions = String::new();
    for (server, tools) in servers {
        let mut own = identifier(server);
        while !taken.insert(own.clone()) {
            own.push('_');
        }
        let what = comment_of(&format!("The tools of the server `{server}`.")).unwrap_or_default();
        let _ = writeln!(functions, "\n{what}\nexport function {own}(client: McpClient) {{");
        functions.push_str("    return {\n");
        for (name, definition) in tools {
            let is_structured = tool(&mut functions, &mut types, (&own, name), definition);
            used[0].1 = true;
            used[1 + usize::from(is_structured)].1 = true;
        }
        functions.push_str("    };\n}\n");
    }
    // What nothing calls would be a warning.
    for (text, _) in used.into_iter().filter(|(_, is_used)| *is_used) {
        source.push_str(text);
    }
    if !types.definitions().is_empty() {
        source.push('\n');
        source.push_str(types.definitions());
    }
    source.push_str(&functions);
    source
}

/// Writes the function of a tool. Returns `true` if it has an output schema.
fn tool(
    source: &mut String,
    types: &mut SchemaTypes,
    (server, name): (&str, &str),
    definition: &Value,
) -> bool {
    let described = definition["description"].as_str().unwrap_or_default();
    if let Some(words) = comment_of(described) {
        let _ = writeln!(source, "        {words}");
    }
    let stem = identifier(&format!("{server}_{name}"));
    let schema = &definition["inputSchema"];
    let input = types.of(schema, &format!("{stem}_input"));
    let takes_nothing =
        is_optional(schema) && (input.starts_with('{') || input.starts_with("Record<"));
    let none = if takes_nothing { " = {}" } else { "" };
    let (key, quoted) = (key_of(name), literal(&Value::from(name)));
    let schema = definition.get("outputSchema").filter(|own| own.is_object());
    let (output, call) = match schema {
        Some(schema) => (types.of(schema, &format!("{stem}_output")), "asValue"),
        None => ("string".to_owned(), "asText"),
    };
    let _ = writeln!(source, "        {key}(input: {input}{none}): Promise<{output}> {{");
    let _ = writeln!(source, "            return {call}(client, {quoted}, input);");
    source.push_str("        },\n");
    schema.is_some()
}
