//! Tools of foreign servers, closed for `OpenAI`'s strict mode, and the arguments that come back.
//!
//! `data/foreign_tools.json` holds what eight public servers answered to `tools/list`, with
//! versions and licences.

use crate::bounded::tokio;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use toolbox::call::Arguments;
use toolbox::dialect::{Dialect, Lowered, lower};
use toolbox::{Tool, ToolBox, ToolCall};

const OPENAI: [Dialect; 2] = [Dialect::OpenAiChat, Dialect::OpenAiResponses];

/// Every tool of the servers, with its schema as it was listed.
fn foreign_tools() -> Vec<(String, Value)> {
    let servers: Value =
        serde_json::from_str(include_str!("data/foreign_tools.json")).expect("JSON");
    let servers = servers["servers"].as_array().expect("servers").iter();
    let tools = servers.flat_map(|server| {
        let prefix = server["name"].as_str().expect("a name");
        let tools = server["tools"].as_array().expect("tools").iter();
        tools.map(move |tool| {
            let name = tool["name"].as_str().expect("a name").replace(['.', ' '], "_");
            (format!("{prefix}_{name}"), tool["inputSchema"].clone())
        })
    });
    tools.collect()
}

fn tool(name: &str, schema: &Value) -> Tool {
    Tool::raw(name, "Does it.", schema.clone(), async |arguments: Arguments| arguments.to_string())
}

fn sent(lowered: &Lowered) -> &Value {
    let places = ["/function/parameters", "/parameters"];
    places.iter().find_map(|place| lowered.tool.pointer(place)).expect("a schema")
}

/// Returns what `OpenAI`'s guide on structured outputs forbids in a schema of strict mode.
fn faults(root: &Value) -> Vec<String> {
    let mut check = Check { root, faults: Vec::new(), properties: 0, values: 0, characters: 0 };
    if root["type"] != "object" {
        check.faults.push("the root is no object".to_owned());
    }
    check.schema(root, "#", 0);
    for (name, body) in root["$defs"].as_object().into_iter().flatten() {
        check.schema(body, &format!("#/$defs/{name}"), 0);
    }
    for (what, count, most) in [
        ("properties", check.properties, 5000),
        ("enum values", check.values, 1000),
        ("characters", check.characters, 120_000),
    ] {
        if count > most {
            check.faults.push(format!("{count} {what}"));
        }
    }
    check.faults
}

struct Check<'a> {
    root: &'a Value,
    faults: Vec<String>,
    properties: usize,
    values: usize,
    characters: usize,
}

impl Check<'_> {
    fn schema(&mut self, schema: &Value, path: &str, level: usize) {
        const KNOWN: [&str; 18] = [
            "type",
            "description",
            "enum",
            "anyOf",
            "$ref",
            "$defs",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "pattern",
            "format",
            "multipleOf",
            "maximum",
            "minimum",
            "exclusiveMaximum",
            "exclusiveMinimum",
            "minItems",
        ];
        const FORMATS: [&str; 9] =
            ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
        let mut fault = |what: String| self.faults.push(format!("{path}: {what}"));
        let Some(map) = schema.as_object() else { return fault(format!("{schema} is no object")) };
        for key in map.keys().filter(|key| !KNOWN.contains(&key.as_str()) && *key != "maxItems") {
            fault(format!("unknown keyword {key}"));
        }
        if let Some(target) = map.get("$ref") {
            let target = target.as_str().expect("text");
            if map.len() > 1
                || target != "#" && self.root.pointer(target.trim_start_matches('#')).is_none()
            {
                fault(format!("{target} has siblings or no target"));
            }
            return;
        }
        if let Some(branches) = map.get("anyOf") {
            let branches = branches.as_array().filter(|list| !list.is_empty()).expect("branches");
            if path == "#" || map.keys().any(|key| key != "anyOf" && key != "description") {
                fault("says more beside anyOf".to_owned());
            }
            for (at, branch) in branches.iter().enumerate() {
                self.schema(branch, &format!("{path}/anyOf/{at}"), level);
            }
            return;
        }
        let kinds: Vec<&str> = match &map.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => return fault("has no type".to_owned()),
        };
        let known = ["string", "number", "integer", "boolean", "null", "object", "array"];
        if kinds.is_empty() || kinds.iter().any(|kind| !known.contains(kind)) {
            fault(format!("unknown type {kinds:?}"));
        }
        if map.get("format").is_some_and(|format| !FORMATS.iter().any(|known| format == known)) {
            fault(format!("format {}", map["format"]));
        }
        if let Some(values) = map.get("enum") {
            let values = values.as_array().expect("a list");
            if values.is_empty() || values.iter().any(|value| value.is_object() || value.is_array())
            {
                fault("enum of no scalars".to_owned());
            }
            self.values += values.len();
            self.characters += values.iter().map(|value| value.to_string().len()).sum::<usize>();
        }
        if kinds.contains(&"array") {
            match map.get("items") {
                Some(items) => self.schema(items, &format!("{path}/items"), level),
                None => self.faults.push(format!("{path}: an array without items")),
            }
        }
        if kinds.contains(&"object") {
            self.object(map, path, level + 1);
        }
    }

    fn object(&mut self, map: &Map<String, Value>, path: &str, level: usize) {
        if level > 10 {
            self.faults.push(format!("{path}: more than ten levels"));
            return;
        }
        if map.get("additionalProperties") != Some(&json!(false)) {
            self.faults.push(format!("{path}: is open"));
        }
        let properties = map.get("properties").and_then(Value::as_object);
        let Some(properties) = properties else {
            return self.faults.push(format!("{path}: has no properties"));
        };
        let names: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: BTreeSet<&str> = required.filter_map(Value::as_str).collect();
        if names != required {
            self.faults.push(format!("{path}: {names:?} are not {required:?}"));
        }
        for (name, property) in properties {
            self.properties += 1;
            self.characters += name.len();
            self.schema(property, &format!("{path}/properties/{name}"), level);
        }
    }
}

#[test]
fn the_check_of_the_strict_subset_finds_what_is_not_in_it() {
    let object = |property: Value| json!({"type": "object", "properties": {"a": property}, "required": ["a"], "additionalProperties": false});
    assert_eq!(faults(&object(json!({"type": "string"}))), [""; 0]);
    let mut deep = json!({"type": "string"});
    for _ in 0..10 {
        deep = object(deep);
    }
    let bad = [
        json!({"type": "object", "properties": {}}),
        json!({"anyOf": [object(json!({"type": "string"}))], "type": "object"}),
        object(json!({})),
        object(json!({"type": "string", "minLength": 1})),
        object(json!({"type": "string", "format": "uri"})),
        object(json!({"type": "array"})),
        object(json!({"oneOf": [{"type": "string"}]})),
        object(json!({"allOf": [{"type": "string"}]})),
        object(json!({"$ref": "#/$defs/gone"})),
        object(json!({"type": "object"})),
        object(deep),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": [], "additionalProperties": false}),
    ];
    for schema in bad {
        assert!(!faults(&schema).is_empty(), "{schema}");
    }
}

#[test]
fn every_foreign_tool_becomes_strict_and_valid() {
    let tools = foreign_tools();
    assert_eq!(tools.len(), 61);
    for dialect in OPENAI {
        let mut strict_before = 0;
        for (name, schema) in &tools {
            let open = tool(name, schema);
            strict_before += usize::from(lower(open.definition(), dialect).strict);
            let lowered = lower(open.strict().definition(), dialect);
            assert!(lowered.strict, "{name}: {:?}", lowered.strict_obstacle);
            assert_eq!(faults(sent(&lowered)), [""; 0], "{name}: {:#}", sent(&lowered));
        }
        assert_eq!(strict_before, 0, "none is strict as it was listed");
    }
}

/// Values of a closed schema: `how` decides what is done where there is a choice.
fn sample(schema: &Value, root: &Value, how: How) -> Value {
    if let Some(target) = schema["$ref"].as_str() {
        return sample(root.pointer(&target[1..]).expect("a target"), root, how);
    }
    if let Some(branches) = schema["anyOf"].as_array() {
        let is_null = |branch: &&Value| branch["type"] == "null";
        let null = branches.iter().find(is_null);
        let branch = match (how, null) {
            (How::Null, Some(null)) => null,
            (How::Last, _) => branches.iter().rfind(|branch| !is_null(branch)).expect("a branch"),
            _ => &branches[0],
        };
        return sample(branch, root, how);
    }
    if let Some(values) = schema["enum"].as_array() {
        return values[0].clone();
    }
    let kind = schema["type"].as_str().or(schema["type"][0].as_str()).expect("a type");
    match kind {
        "string" => json!(text(schema)),
        "integer" | "number" => {
            let least =
                schema["minimum"].as_i64().or(schema["exclusiveMinimum"].as_i64().map(|n| n + 1));
            json!(least.unwrap_or(1))
        }
        "boolean" => json!(true),
        "null" => Value::Null,
        "array" => {
            let count = schema["minItems"].as_u64().unwrap_or(1);
            (0..count).map(|_| sample(&schema["items"], root, how)).collect()
        }
        _ => {
            let properties = schema["properties"].as_object().expect("properties");
            properties
                .iter()
                .map(|(name, property)| match name.as_str() {
                    "json_text" => (name.clone(), json!(r#"{"any": ["thing", 1.50]}"#)),
                    _ => (name.clone(), sample(property, root, how)),
                })
                .collect::<Map<_, _>>()
                .into()
        }
    }
}

/// Returns a text of the format; where none is named it is a URL, since the strict subset has no
/// word for that.
fn text(schema: &Value) -> &'static str {
    match schema["format"].as_str() {
        Some("email") => "a@b.example",
        Some("date") => "2026-01-02",
        Some("date-time") => "2026-01-02T03:04:05Z",
        _ => "https://a.example/b",
    }
}

#[derive(Debug, Clone, Copy)]
enum How {
    First,
    Last,
    Null,
}

/// Checks that nothing is left of the closed form.
fn check_restored(given: &Value, arrived: &Value, path: &str) {
    match (given, arrived) {
        (Value::Object(given), _) if given.len() == 1 && given.contains_key("json_text") => {
            assert_eq!(arrived, &json!({"any": ["thing", 1.5]}), "{path}");
        }
        (Value::Object(given), Value::Object(arrived)) => {
            for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
                check_restored(value, &arrived[name], &format!("{path}/{name}"));
            }
        }
        (Value::Array(given), Value::Array(arrived)) => {
            for (given, arrived) in given.iter().zip(arrived) {
                check_restored(given, arrived, path);
            }
        }
        (given, arrived) => assert_eq!(given, arrived, "{path}"),
    }
}

#[tokio::test]
async fn what_a_model_writes_in_the_closed_form_arrives_in_the_tools_own() {
    for (name, schema) in foreign_tools() {
        let original = jsonschema::validator_for(&schema).expect("a schema");
        let strict = tool(&name, &schema).strict();
        let lowered = lower(strict.definition(), Dialect::OpenAiChat);
        let toolbox = ToolBox::from(strict);
        for how in [How::First, How::Last, How::Null] {
            let given = sample(sent(&lowered), sent(&lowered), how);
            let result = toolbox.call(ToolCall::new("1", &name, given.to_string())).await;
            assert!(!result.is_error(), "{name} {how:?}: {} {given}", result.text());
            let arrived: Value = serde_json::from_str(&result.text()).expect("JSON");
            assert!(original.is_valid(&arrived), "{name} {how:?}: {arrived}");
            check_restored(&given, &arrived, "");
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            for key in given.as_object().expect("an object").keys() {
                let is_left_out = given[key].is_null() && !required.contains(&json!(key));
                assert_eq!(arrived.get(key).is_none(), is_left_out, "{name} {how:?} {key}");
            }
        }
    }
}

/// A schema, what a model writes, and what arrives.
#[allow(clippy::too_many_lines, reason = "each case is one of its own")]
fn hard_cases() -> Vec<(Value, &'static str, &'static str)> {
    let string = json!({"type": "string"});
    vec![
        (json!({"type": "object"}), "{}", "{}"),
        (json!({"properties": {"a": {}}}), r#"{"a":null}"#, "{}"),
        (json!({"properties": {"a": true}, "required": ["a"]}), r#"{"a":"[1]"}"#, r#"{"a":"[1]"}"#),
        (
            json!({"properties": {"a": {}}}),
            r#"{"a":{"json_text":"[1, 2.50]"}}"#,
            r#"{"a":[1, 2.50]}"#,
        ),
        (
            json!({"properties": {"a": {"type": "object", "additionalProperties": string}}}),
            r#"{"a":{"json_text":"{\"x\":\"y\"}"}}"#,
            r#"{"a":{"x":"y"}}"#,
        ),
        (
            json!({"properties": {"a": {"type": ["object", "string"]}}, "required": ["a"]}),
            r#"{"a":"{}"}"#,
            r#"{"a":"{}"}"#,
        ),
        // Digits stay, whatever else changes.
        (
            json!({"properties": {"a": {"type": "number"}, "b": string}}),
            r#"{"a":12345678901234567890.10,"b":null}"#,
            r#"{"a":12345678901234567890.10}"#,
        ),
        // Nested, in lists, behind references old and new, and beside them.
        (
            json!({"properties": {"a": {"type": "array", "items": {"$ref": "#/definitions/x"}}},
            "definitions": {"x": {"type": "object", "properties": {"n": string, "m": string}, "required": ["m"]}}}),
            r#"{"a":[{"n":null,"m":"t"}]}"#,
            r#"{"a":[{"m":"t"}]}"#,
        ),
        (
            json!({"properties": {"a": {"$ref": "#/$defs/x", "description": "d"}}, "required": ["a"],
            "$defs": {"x": {"type": "object", "properties": {"n": {"$ref": "#/$defs/x"}}}}}),
            r#"{"a":{"n":{"n":null}}}"#,
            r#"{"a":{"n":{}}}"#,
        ),
        (
            json!({"properties": {"a": {"type": "object", "properties": {"n": string}}, "b": {"$ref": "#/properties/a"}}}),
            r#"{"a":{"n":null},"b":{"n":null}}"#,
            r#"{"a":{},"b":{}}"#,
        ),
        (
            json!({"properties": {"a": {"allOf": [{"$ref": "#/$defs/x"}, {"properties": {"o": string}, "required": ["o"]}]}},
            "$defs": {"x": {"type": "object", "properties": {"n": string}}}}),
            r#"{"a":{"n":null,"o":"t"}}"#,
            r#"{"a":{"o":"t"}}"#,
        ),
        (
            json!({"properties": {"a": {"type": "object", "properties": {"x": string, "y": string}, "oneOf": [{"required": ["x"]}, {"required": ["y"]}]}}}),
            r#"{"a":{"x":"t","y":null}}"#,
            r#"{"a":{"x":"t"}}"#,
        ),
        (
            json!({"properties": {"a": string, "b": string}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            r#"{"a":"t","b":null}"#,
            r#"{"a":"t"}"#,
        ),
        // Null means "left out" also where the schema takes a null.
        (
            json!({"properties": {"a": {"type": ["string", "null"], "default": "x"}}}),
            r#"{"a":null}"#,
            "{}",
        ),
        (
            json!({"properties": {"a": {"anyOf": [string, {"type": "null"}], "default": null}}, "required": ["a"]}),
            r#"{"a":null}"#,
            r#"{"a":null}"#,
        ),
        (json!({"properties": {"a": {"enum": ["x", null]}}}), r#"{"a":null}"#, "{}"),
        (
            json!({"properties": {"a": {"type": "array", "prefixItems": [string, {"type": "integer"}]}}}),
            r#"{"a":["t",1]}"#,
            r#"{"a":["t",1]}"#,
        ),
        (
            json!({"properties": {"a": {"type": "array", "items": [string, {"type": "integer"}]}}}),
            r#"{"a":["t",1]}"#,
            r#"{"a":["t",1]}"#,
        ),
        (
            json!({"properties": {"a": {"type": "array"}}}),
            r#"{"a":[1,"t",{"json_text":"{}"}]}"#,
            r#"{"a":[1,"t",{}]}"#,
        ),
        (
            json!({"properties": {"a": {"const": {"x": 1}}}}),
            r#"{"a":{"json_text":"{\"x\":1}"}}"#,
            r#"{"a":{"x":1}}"#,
        ),
        (
            json!({"properties": {"a": {"type": "string", "not": {"const": "x"}, "if": {}, "minLength": 1, "x-ui": 1}}}),
            r#"{"a":"t"}"#,
            r#"{"a":"t"}"#,
        ),
        (
            json!({"properties": {"a": string}, "required": ["a", "b"]}),
            r#"{"a":"t","b":true}"#,
            r#"{"a":"t","b":true}"#,
        ),
        (
            json!({"properties": {"a": string}, "additionalProperties": true}),
            r#"{"a":"t"}"#,
            r#"{"a":"t"}"#,
        ),
        // A property of that very name is nobody else's.
        (
            json!({"properties": {"a": {"type": "object", "properties": {"json_text": string}}}}),
            r#"{"a":{"json_text":"{}"}}"#,
            r#"{"a":{"json_text":"{}"}}"#,
        ),
    ]
}

#[tokio::test]
async fn hard_schemas_become_strict_and_their_arguments_come_back() {
    for (schema, given, expected) in hard_cases() {
        let mut schema = schema;
        schema["type"] = json!("object");
        let strict = tool("t", &schema).strict();
        for dialect in OPENAI {
            let lowered = lower(strict.definition(), dialect);
            assert!(lowered.strict, "{schema}: {:?}", lowered.strict_obstacle);
            assert_eq!(faults(sent(&lowered)), [""; 0], "{schema}: {:#}", sent(&lowered));
            let closed = jsonschema::validator_for(sent(&lowered)).expect("a schema");
            let given: Value = serde_json::from_str(given).expect("JSON");
            assert!(closed.is_valid(&given), "{schema}: {given} in {:#}", sent(&lowered));
        }
        for toolbox in [
            ToolBox::from(strict.clone()),
            ToolBox::builder().tools(tool("t", &schema)).strict(true).build().expect("a box"),
        ] {
            assert!(
                toolbox.definitions().lowered(Dialect::OpenAiChat).tools().next().unwrap().strict
            );
            let result = toolbox.call(ToolCall::new("1", "t", given)).await;
            assert_eq!(result.text(), expected, "{schema}");
        }
    }
}

#[test]
fn what_closing_narrows_is_among_the_losses() {
    let schema = json!({"type": "object", "properties": {
        "map": {"type": "object"}, "any": {}, "open": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": true},
        "not": {"type": "string", "not": {"const": "x"}}, "null": {"type": ["string", "null"]},
    }});
    let losses: Vec<String> = lower(tool("t", &schema).strict().definition(), Dialect::OpenAiChat)
        .losses
        .iter()
        .map(ToString::to_string)
        .collect();
    for expected in [
        "`additionalProperties` at /properties/map: moved to the description",
        "`type` at /properties/any: moved to the description",
        "`additionalProperties` at /properties/open: dropped",
        "`not` at /properties/not: dropped",
        "`null` at /properties/null: dropped",
    ] {
        assert!(losses.iter().any(|loss| loss == expected), "{expected}: {losses:#?}");
    }
    // Arguments of any names cannot be said at all.
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let lowered = lower(tool("t", &map).strict().definition(), Dialect::OpenAiChat);
    assert!(!lowered.strict && lowered.strict_obstacle.is_some());
}

#[tokio::test]
async fn other_arguments_of_a_strict_tool_stay_as_they_are() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let strict = Tool::raw("t", "Does it.", schema, move |arguments: Arguments| {
        noted.lock().expect("no panic").push(arguments.to_string());
        async { "done" }
    });
    let toolbox = ToolBox::from([strict.clone().strict(), strict.renamed("open")]);
    // A key that is there twice is read by a strict tool as by any other.
    for text in [r#"{"a":null,"a":"x"}"#, r#"{"a":"x","a":"y"}"#, r#"{"a":"x","a":null}"#] {
        let strict = toolbox.call(ToolCall::new("1", "t", text)).await;
        let open = toolbox.call(ToolCall::new("1", "open", text)).await;
        assert_eq!(strict.text().replace("`t`", "`open`"), open.text(), "{text}");
    }
    let refused =
        [r#"{"b":null}"#, r#"{"a":1.5,"b":null}"#, "[null]", "nul", r#"{"json_text":"{}"}"#];
    for text in refused {
        let result = toolbox.call(ToolCall::new("1", "t", text)).await;
        assert!(result.is_error(), "{text}: {}", result.text());
    }
    for text in ["", "{}", r#"{ "a" : "x" }"#] {
        assert_eq!(toolbox.call(ToolCall::new("1", "t", text)).await.text(), "done", "{text}");
    }
    assert!(seen.lock().expect("no panic").contains(&r#"{ "a" : "x" }"#.to_owned()));
}
