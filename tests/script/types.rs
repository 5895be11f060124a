//! The declarations of tools in TypeScript.

use std::fmt::Write as _;
use std::process::Command;

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use toolbox::testing::Generator;
use toolbox::{Tool, ToolBox, ToolDefinition};
use toolbox_codegen::Lock;
use toolbox_script::{Names, declarations};

use crate::bounded::tokio;
use crate::corpus;
use crate::{run, scripted};

/// The instances of each schema that are held against its type.
const INSTANCES: usize = 20;

/// The values that are made of each, in search of instances.
const SEEDS: usize = 60;

fn definition(name: &str, schema: Value) -> ToolDefinition {
    ToolDefinition::new(name, "", schema)
}

/// The types of arguments.
#[test]
fn a_schema_becomes_a_type() {
    for (schema, expected) in [
        (json!({"type": "object"}), "?: { [key: string]: unknown }"),
        (json!({"type": "object", "additionalProperties": false}), "?: Record<string, never>"),
        (
            json!({"properties": {"a": {"type": "string"}, "b-c": {"type": "integer"}}, "required": ["a"]}),
            ": { a: string; \"b-c\"?: number }",
        ),
        (json!({"properties": {"a": {"enum": ["x", 1, null]}}}), "?: { a?: \"x\" | 1 | null }"),
        (json!({"properties": {"a": {"const": {"b": [1]}}}}), "?: { a?: { b: [1] } }"),
        (json!({"properties": {"a": {"type": ["string", "null"]}}}), "?: { a?: string | null }"),
        (
            json!({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]}}}),
            "?: { a?: string | Array<number> }",
        ),
        (
            json!({"properties": {"a": {"allOf": [{"properties": {"b": {}}}, {"anyOf": [{"type": "null"}, {"type": "boolean"}]}]}}}),
            "?: { a?: { b?: unknown } & (null | boolean) }",
        ),
        (
            json!({"properties": {"a": {"prefixItems": [{"type": "string"}, {"enum": [1, 2]}], "minItems": 1, "items": false, "type": "array"}}}),
            "?: { a?: [string, (1 | 2)?] }",
        ),
        (
            json!({"properties": {"a": {"type": "object", "additionalProperties": {"type": "number"}}}}),
            "?: { a?: { [key: string]: number } }",
        ),
        (
            json!({"properties": {"a": {"type": "object", "properties": {"x": {"type": "number"}}, "additionalProperties": {"type": "string"}}}}),
            "?: { a?: { x?: number; [key: string]: unknown } }",
        ),
        (
            json!({"properties": {"a": {"description": "One */ line\nmore", "type": "boolean"}}}),
            "?: { /** One *\\/ line more */ a?: boolean }",
        ),
        (json!({"properties": {"a": {"$ref": "https://example.com/other"}}}), "?: { a?: unknown }"),
        (
            json!({"properties": {"a": false, "b": true, "c": {"not": {}}}}),
            "?: { a?: never; b?: unknown; c?: unknown }",
        ),
        (json!({"required": ["z"], "type": "object"}), ": { z: unknown }"),
    ] {
        let text = declarations([&definition("t", schema.clone())], &Names::of(["t"]));
        let expected =
            format!("declare const tools: {{\n    t(input{expected}): Promise<string>;\n}};\n");
        assert_eq!(text, expected, "{schema}");
    }
    let tree = json!({"$ref": "#/$defs/Tree", "$defs": {"Tree": {"properties": {"left": {"$ref": "#/$defs/Tree"}}}, "Loop": {"$ref": "#/$defs/Loop"}}});
    assert_eq!(
        declarations([&definition("t", tree)], &Names::of(["t"])),
        "type t_input_Tree = { left?: t_input_Tree };\ndeclare const tools: {\n    t(input: t_input_Tree): Promise<string>;\n};\n",
    );
    let circle = json!({"anyOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "null"}]}, "B": {"$ref": "#/$defs/A"}}});
    assert!(declarations([&definition("t", circle)], &Names::of(["t"])).contains("= unknown;"));
}

/// Names become identifiers that lead back, whatever they are.
#[test]
fn names_are_identifiers_and_lead_back() {
    let all = [
        "a-b", "a_b", "a.b", "a/b", "1st", "search", "types", "then", "search_", "a_b_", "delete",
        "ä", "x",
    ];
    let names = Names::of(all);
    let mut seen = std::collections::HashSet::new();
    for name in all {
        let own = names.identifier(name);
        assert!(own.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{own}");
        assert!(!own.starts_with(|c: char| c.is_ascii_digit()));
        assert!(!["search", "types", "then"].contains(&own));
        assert!(seen.insert(own.to_owned()), "{own}");
        assert_eq!(names.tool(own), Some(name));
    }
    assert_eq!((names.identifier("a_b"), names.identifier("x")), ("a_b", "x"));
    // The order in which tools were registered is nothing to them.
    let turned = Names::of(all.into_iter().rev());
    assert!(all.iter().all(|name| turned.identifier(name) == names.identifier(name)));
}

#[tokio::test]
async fn a_script_finds_tools_and_their_types() {
    let tool = |name: &str| {
        Tool::new(name, format!("Does {name}.")).param("day", "string", "the day").call(|_| "")
    };
    let toolbox =
        scripted(["calendar-list", "calendar-add", "mail-send"].map(tool).into_iter().collect());
    toolbox.blacklist("calendar-add");
    for (script, expected) in [
        (
            "return (await tools.search('list the calendar')).map((one) => one.name + ' ' + one.description)[0]",
            "calendar_list Does calendar-list.",
        ),
        (
            "return await tools.types('calendar_*')",
            "declare const tools: {\n    /** Does calendar-list. */\n    calendar_list(input: { /** the day */ day: string }): Promise<string>;\n};\n",
        ),
        ("return (await tools.types('mail-send')).includes('mail_send(input')", "true"),
        ("return (await tools.types()).match(/Promise/g).length", "2"),
        (
            "return await tools.types('none_*')",
            "// no tool is named like \"none_*\": use tools.search(\"...\")",
        ),
        (
            "return (await tools.search('run a script')).some((one) => one.name === 'run_script')",
            "false",
        ),
    ] {
        assert_eq!(run(&toolbox, script).await.text(), expected, "{script}");
    }
}

#[test]
fn the_definition_is_short() {
    let toolbox = scripted(ToolBox::new());
    for dialect in toolbox::dialect::Dialect::ALL {
        let tokens = toolbox.tokens(dialect)[0].tokens;
        assert!((100..400).contains(&tokens), "{dialect:?}: {tokens}");
    }
}

/// All schemas of the corpus: of types in Rust, and of public servers.
fn all_definitions() -> Vec<ToolDefinition> {
    let groups = [
        corpus::numbers(),
        corpus::texts(),
        corpus::options(),
        corpus::containers(),
        corpus::structs(),
        corpus::choices(),
        corpus::flattened(),
        corpus::whole_objects(),
        corpus::attributes(),
    ];
    let own = groups.iter().flatten().map(|tool| tool.definition().clone());
    let foreign: Value =
        serde_json::from_str(include_str!("../core/schema/data/foreign_tools.json")).unwrap();
    let servers = foreign["servers"].as_array().unwrap();
    let foreign = servers.iter().flat_map(|server| {
        server["tools"].as_array().unwrap().iter().map(move |tool| {
            let name =
                format!("{}-{}", server["name"].as_str().unwrap(), tool["name"].as_str().unwrap());
            definition(&name, tool["inputSchema"].clone())
        })
    });
    own.chain(foreign).collect()
}

/// Every schema has a type that the compiler takes; its values have that type, and one without what
/// is required has not.
#[test]
#[cfg_attr(not(has_tsc), ignore = "needs tsc")]
fn the_compiler_takes_all_types_and_values() {
    let definitions = all_definitions();
    assert!(definitions.len() > 100, "{}", definitions.len());
    let names = Names::of(definitions.iter().map(|one| one.name.as_str()));
    let mut text = declarations(&definitions, &names);
    // A type says nothing against further properties, but of an object that is written in its place.
    text.push_str("declare function check<X>(): <const T extends X>(value: T) => void;\n");
    let mut values_seen = 0;
    for definition in &definitions {
        let key = Value::from(names.identifier(&definition.name));
        let schema = &*definition.input_schema;
        let validator = jsonschema::draft202012::new(schema).unwrap();
        let values = (0..).map(|seed| Generator::seeded(seed).instance(schema)).take(SEEDS);
        for value in values.filter(|value| validator.is_valid(value)).take(INSTANCES) {
            values_seen += 1;
            let _ = writeln!(text, "check<Parameters<typeof tools[{key}]>[0]>()({value});");
        }
        let required = schema.get("required").and_then(Value::as_array);
        if required.is_some_and(|all| !all.is_empty()) {
            let _ = writeln!(text, "// @ts-expect-error\nvoid tools[{key}]({{}});");
        }
        let _ = writeln!(text, "// @ts-expect-error\nvoid tools[{key}](1);");
    }
    assert!(values_seen > 10 * definitions.len(), "{values_seen}");
    compiled(&[("all.ts", &text)]);
}

/// Compiles files with all that is strict, in a folder that is returned.
fn compiled(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut compiler = Command::new("tsc");
    compiler.args(["--strict", "--noUnusedLocals", "--noUncheckedIndexedAccess"]);
    compiler.args(["--target", "es2022", "--module", "nodenext", "--types", ""]);
    compiler.args(files.iter().map(|(name, _)| name)).current_dir(folder.path());
    let output = compiler.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", said.lines().take(20).collect::<Vec<_>>().join("\n"));
    folder
}

/// Clients of pinned tools: the compiler takes those of all schemas, whatever the names are.
#[test]
#[cfg_attr(not(has_tsc), ignore = "needs tsc")]
fn clients_compile_whatever_the_tools_are_called() {
    let mut tools = Map::new();
    for definition in all_definitions() {
        let mut value =
            json!({"description": "*/ evil(); /*", "inputSchema": *definition.input_schema});
        if let Some(output) = definition.output_schema.as_deref() {
            value["outputSchema"] = output.clone();
        }
        tools.insert(definition.name.clone(), json!({"definition": value}));
    }
    let any = json!({"definition": {"inputSchema": {"type": "object"}}});
    for name in
        ["__proto__", "constructor", "a\"b", "a\nb", "${x}", "\u{202e}x", "日", "8", "delete"]
    {
        tools.insert(name.to_owned(), any.clone());
    }
    let servers = [
        "s",
        "delete",
        "text",
        "Error",
        "my-files",
        "my_files",
        "*/ evil(); /*",
        "8",
        "日",
        "Result",
        "McpClient",
        "Promise",
        "Object",
        "Array",
        "Record",
        "globalThis",
        "NaN",
        "async",
        "let",
        "of",
        "type",
        "declare",
        "require",
        "exports",
        "module",
        "any",
        "string",
        "name",
        "input",
    ];
    for odd in [json!([]), json!(["object", "null"]), json!("array"), json!(false)] {
        let name = format!("typed {odd}");
        let schema = if odd == json!(false) { json!({"not": {}}) } else { json!({"type": odd}) };
        tools.insert(name, json!({"definition": {"inputSchema": schema}}));
    }
    let few: Value = json!({"8": any, "delete": any});
    let named: Map<String, Value> = servers
        .iter()
        .map(|&name| (name.to_owned(), if name == "s" { json!(tools) } else { few.clone() }))
        .collect();
    let lock = json!({"version": 1, "servers": named}).to_string();
    let source = Lock::read(&lock).unwrap().typescript();
    assert_eq!(source.matches("\nexport function ").count(), servers.len());
    assert!(!source.contains(['\u{202e}', '\r']));
    compiled(&[("client.ts", &source)]);
    // Neither is what nothing uses written.
    for tools in
        [json!({}), few, json!({"a": {"definition": {"inputSchema": {}, "outputSchema": {}}}})]
    {
        let lock = json!({"version": 1, "servers": {"s": tools}}).to_string();
        compiled(&[("client.ts", &Lock::read(&lock).unwrap().typescript())]);
    }
}

/// A client runs, in the words of a user.
#[test]
#[cfg_attr(not(has_tsc), ignore = "needs tsc")]
fn clients_return_values_and_texts_and_throw_failures() {
    let number =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let lock = json!({"version": 1, "servers": {"my-sums": {
        "double": {"definition": {"inputSchema": number, "outputSchema": number}},
        "say-it": {"definition": {"inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}},
    }}});
    let source = Lock::read(&lock.to_string()).unwrap().typescript();
    let user = r#"
        import { ToolFailed, my_sums } from "./client.mjs";
        const seen: unknown[] = [];
        const client = {
            async callTool({ name, arguments: given }: { name: string; arguments: { [key: string]: unknown } }) {
                seen.push([name, given]);
                const text = (text: string) => ({ type: "text", text });
                if (given.n === 0) return { isError: true, content: [text("no zero"), { type: "image" }] };
                if (given.n === 9) return { content: [] };
                if (name === "double") return { content: [], structuredContent: { n: 2 * (given.n as number) } };
                return { content: [text("a"), text("b")] };
            },
        };
        const sums = my_sums(client);
        const { n }: { n: number } = await sums.double({ n: 2 });
        const said: string = await sums["say-it"]();
        const why = async (call: Promise<unknown>) => call.then(() => "fine", (error) => `${error instanceof ToolFailed} ${error.message}`);
        const out = [n, said, await why(sums.double({ n: 0 })), await why(sums.double({ n: 9 })), await why(sums["say-it"]({ n: 9 })), seen[1]];
        // @ts-expect-error
        const wrong = () => [sums.double({ n: "2" }), sums.double({}), sums.triple];
        declare const console: { log(text: string): void };
        console.log(JSON.stringify(out) + String(wrong).length.toString().slice(9));
    "#;
    let folder = compiled(&[("client.mts", &source), ("user.mts", user)]);
    let ran = Command::new("node").arg("user.mjs").current_dir(folder.path()).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&ran.stdout).trim_end(),
        r#"[4,"a\nb","true double: no zero","true double: the result has no structure","fine",["say-it",{}]]"#,
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}
