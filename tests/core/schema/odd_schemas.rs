//! Schemas as servers really have them: of old drafts, with null keywords, with words that are no
//! types. What leaves for a provider is valid in draft 2020-12 and keeps the provider's own rules,
//! because one schema that breaks them fails each request; calls are checked as they were before.

use super::lowered::{each, sent};
use crate::bounded::tokio;
use serde_json::{Map, Value, json};
use toolbox::call::Arguments;
use toolbox::dialect::{Dialect, lower};
use toolbox::{Tool, ToolBox, ToolCall, ToolDefinition};

/// Returns the faults of a list entry by the rules of its provider.
fn faults(tool: &Value, dialect: Dialect) -> Vec<String> {
    let mut faults = Vec::new();
    let Some(schema) = sent(tool) else { return faults };
    if let Err(error) = jsonschema::draft202012::meta::validate(schema) {
        faults.push(format!("no schema of 2020-12: {} at {}", error, error.instance_path()));
    }
    if schema["type"] != "object" {
        faults.push("the root is no object".to_owned());
    }
    let whole = schema;
    let gemini = matches!(dialect, Dialect::Gemini | Dialect::GeminiInteractions);
    let models = dialect != Dialect::Mcp;
    if models
        && ["anyOf", "oneOf", "allOf", "not", "enum"].iter().any(|key| schema.get(key).is_some())
    {
        faults.push("a combinator stands at the root".to_owned());
    }
    if dialect == Dialect::Anthropic {
        for name in schema["properties"].as_object().into_iter().flat_map(Map::keys) {
            let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
            if name.is_empty() || name.len() > 64 || !name.bytes().all(is_fit) {
                faults.push(format!("an argument is named {name:?}"));
            }
        }
    }
    each(schema, &mut |schema| {
        let Value::Object(map) = schema else { return };
        for (keyword, value) in map {
            if value.is_null() && !matches!(keyword.as_str(), "const" | "default") {
                faults.push(format!("`{keyword}` is null"));
            }
        }
        if models && let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let target = reference.strip_prefix('#').and_then(|path| whole.pointer(path));
            if target.is_none() {
                faults.push(format!("{reference} leads nowhere"));
            }
        }
        if !gemini {
            return;
        }
        if map.get("enum").and_then(Value::as_array).is_some_and(|list| list.contains(&json!(""))) {
            faults.push("an empty text is among the choices".to_owned());
        }
        let has = |word: &str| match &map.get("type") {
            Some(Value::Array(words)) => words.iter().any(|own| own == word),
            own => own.is_some_and(|own| own == word),
        };
        let items = map.get("items");
        if has("array") && items.and_then(Value::as_object).is_none_or(Map::is_empty) {
            faults.push(format!("a list has the items {items:?}"));
        }
        if let Some(Value::Array(words)) = map.get("type")
            && map.get("enum").is_none()
            && (words.len() != 2 || has("array") || has("object"))
        {
            faults.push(format!("the type is {words:?}"));
        }
    });
    faults
}

fn check(schema: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for strict in [false, true] {
        let mut definition = ToolDefinition::new("t", "Does it.", schema.clone());
        definition.strict = strict;
        for dialect in Dialect::ALL {
            let lowered = lower(&definition, dialect);
            let faults = faults(&lowered.tool, dialect);
            all.extend(
                faults
                    .into_iter()
                    .map(|fault| format!("{dialect:?}: {fault}: {schema} -> {}", lowered.tool)),
            );
        }
    }
    all
}

fn with(a: Value) -> Value {
    json!({"type": "object", "properties": {"a": a}})
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "a table")]
async fn an_odd_schema_leaves_as_a_valid_one_and_calls_are_checked_as_before() {
    let draft = |number: &str| format!("http://json-schema.org/draft-{number}/schema#");
    let some = Some(json!({"a": 1}));
    // The schema, arguments that it takes, arguments that it refuses.
    let cases: Vec<(Value, Value, Option<Value>)> = vec![
        (json!({"type": "object", "required": null}), json!({}), None),
        (json!({"type": "object", "properties": null}), json!({}), None),
        (json!({"type": "object", "properties": []}), json!({}), None),
        (json!({"type": ["object", "null"]}), json!({}), None),
        (
            json!({"type": "Object", "properties": {"a": {"type": "STRING"}}}),
            json!({"a": "x"}),
            some.clone(),
        ),
        (json!({}), json!({"a": 1}), None),
        (
            json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"a": {"type": "string"}}}}}),
            json!({"a": "x"}),
            some.clone(),
        ),
        (
            json!({"anyOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]}),
            json!({"b": 1}),
            Some(json!({})),
        ),
        (with(json!(null)), json!({"a": 1}), None),
        (with(json!("string")), json!({"a": "x"}), None),
        (with(json!(true)), json!({"a": 1}), None),
        (with(json!(false)), json!({}), some.clone()),
        (with(json!({"type": null})), json!({"a": 1}), None),
        (with(json!({"type": "any"})), json!({"a": 1}), None),
        (with(json!({"type": "datetime"})), json!({"a": "x"}), None),
        (with(json!({"type": ["string", "any"]})), json!({"a": 1}), None),
        (with(json!({"type": []})), json!({"a": 1}), None),
        (with(json!({"type": ["string", "string"]})), json!({"a": "x"}), some.clone()),
        (
            with(json!({"type": "string", "enum": null, "default": null, "description": null})),
            json!({"a": "x"}),
            some.clone(),
        ),
        (with(json!({"type": "string", "enum": []})), json!({}), None),
        (with(json!({"type": "string", "enum": "x"})), json!({"a": "y"}), some.clone()),
        (with(json!({"type": "string", "enum": ["", "x", "x"]})), json!({"a": ""}), some.clone()),
        (with(json!({"type": "string", "enum": [""]})), json!({"a": ""}), some.clone()),
        (with(json!({"const": ""})), json!({"a": ""}), some.clone()),
        (with(json!({"type": "array"})), json!({"a": [1]}), some.clone()),
        (with(json!({"type": "array", "items": {}})), json!({"a": [1, "x", [2]]}), some.clone()),
        (with(json!({"type": "array", "items": []})), json!({"a": [1]}), some.clone()),
        (with(json!({"type": "array", "items": null})), json!({"a": [1]}), some.clone()),
        (
            with(
                json!({"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": false}),
            ),
            json!({"a": ["x", 1]}),
            Some(json!({"a": [1]})),
        ),
        (
            with(
                json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "array"}]}}),
            ),
            json!({"a": ["x"]}),
            Some(json!({"a": [1]})),
        ),
        (
            with(json!({"type": ["array", "null"], "items": {"type": "string"}})),
            json!({"a": null}),
            some.clone(),
        ),
        (
            with(
                json!({"type": "array", "items": {"type": ["object", "null"], "properties": {"b": {}}}}),
            ),
            json!({"a": [null, {}]}),
            Some(json!({"a": [1]})),
        ),
        (
            with(json!({"type": ["string", "integer", "object"], "minLength": 2})),
            json!({"a": 1}),
            Some(json!({"a": "x"})),
        ),
        (
            with(json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true})),
            json!({"a": 1}),
            Some(json!({"a": 0})),
        ),
        (
            with(json!({"type": "integer", "maximum": 5, "exclusiveMaximum": false})),
            json!({"a": 5}),
            Some(json!({"a": 6})),
        ),
        (with(json!({"type": "integer", "exclusiveMinimum": true})), json!({"a": 1}), None),
        (
            with(json!({"type": "string", "minLength": "2", "maxLength": -1})),
            json!({"a": "xx"}),
            some.clone(),
        ),
        (
            with(json!({"type": "number", "multipleOf": 0})),
            json!({"a": 1}),
            Some(json!({"a": "x"})),
        ),
        (
            with(
                json!({"type": "string", "format": 7, "pattern": ["x"], "title": {}, "description": 1}),
            ),
            json!({"a": "x"}),
            some.clone(),
        ),
        (with(json!({"anyOf": []})), json!({"a": 1}), None),
        (with(json!({"anyOf": {"type": "string"}})), json!({"a": 1}), None),
        (with(json!({"anyOf": [null, {"type": "string"}]})), json!({"a": 1}), None),
        (with(json!({"not": null, "if": 1, "allOf": "x"})), json!({"a": 1}), None),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "required": true}, "b": {"required": false}}}),
            json!({"a": "x"}),
            some.clone(),
        ),
        (
            json!({"type": "object", "properties": {"a": {}}, "required": ["a", "a", 7]}),
            json!({"a": 1}),
            Some(json!({})),
        ),
        (json!({"type": "object", "properties": {"a": {}}, "required": "a"}), json!({}), None),
        (
            json!({"type": "object", "properties": {}, "additionalProperties": null}),
            json!({"a": 1}),
            None,
        ),
        (json!({"type": "object", "additionalProperties": "false"}), json!({"a": 1}), None),
        (
            json!({"type": "object", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
            json!({"a": 1, "b": 2}),
            some.clone(),
        ),
        (
            json!({"$schema": draft("07"), "type": "object", "definitions": {"A": {"type": "string"}}, "properties": {"a": {"$ref": "#/definitions/A", "minLength": 9}}}),
            json!({"a": "x"}),
            some.clone(),
        ),
        (
            json!({"$schema": draft("04"), "id": "x", "type": "object", "properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "string"}}}),
            json!({"a": "x"}),
            some.clone(),
        ),
        (with(json!({"$ref": "#/$defs/Missing"})), json!({"a": 1}), None),
        (with(json!({"$ref": "https://example.com/other.json"})), json!({"a": 1}), None),
        (with(json!({"$ref": 7})), json!({"a": 1}), None),
        (
            json!({"type": "object", "$defs": {"A": {"$anchor": "here", "type": "string"}}, "properties": {"a": {"$ref": "#here"}}}),
            json!({"a": "x"}),
            some.clone(),
        ),
        (
            json!({"type": "object", "$id": "#old", "$anchor": "1 bad", "$schema": 7}),
            json!({}),
            None,
        ),
        (
            json!({"type": "object", "properties": {"$filter": {"type": "string"}, "user name": {}}, "required": ["$filter"], "additionalProperties": false}),
            json!({"$filter": "x"}),
            Some(json!({"$filter": 1})),
        ),
        (
            with(json!({"type": "string", "examples": "x", "deprecated": "no", "readOnly": 1})),
            json!({"a": "x"}),
            some.clone(),
        ),
        (
            with(json!({"type": "object", "patternProperties": {"^x": null}, "propertyNames": 1})),
            json!({"a": {}}),
            some.clone(),
        ),
    ];
    let mut all = Vec::new();
    for (schema, takes, refuses) in cases {
        all.extend(check(&schema));
        let tool = Tool::raw("t", "Does it.", schema.clone(), |_: Arguments| "ran");
        let toolbox = ToolBox::from(tool);
        let result = toolbox.call(ToolCall::new("1", "t", takes.to_string())).await;
        if result.text() != "ran" {
            all.push(format!("{schema} refuses {takes}: {}", result.text()));
        }
        if let Some(refused) = refuses {
            let result = toolbox.call(ToolCall::new("1", "t", refused.to_string())).await;
            if !result.is_error() {
                all.push(format!("{schema} takes {refused}"));
            }
        }
    }
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
}

/// A small source of numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// Returns the pointers to all values in a document.
fn places(value: &Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    let step = |key: &str| format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| places(value, &step(key), found)),
        Value::Array(list) => {
            (0..)
                .zip(list)
                .for_each(|(at, value): (usize, _)| places(value, &step(&at.to_string()), found));
        }
        _ => {}
    }
}

#[test]
fn a_schema_that_is_damaged_anywhere_leaves_as_a_valid_one() {
    let whole = json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "title": "T",
        "definitions": {"Place": {"type": "object", "properties": {"city": {"type": "string", "minLength": 1}}, "required": ["city"]}},
        "properties": {
            "place": {"$ref": "#/definitions/Place"},
            "list": {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "uniqueItems": true},
            "kind": {"type": "string", "enum": ["a", "b"], "default": "a", "description": "A kind."},
            "either": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            "map": {"type": "object", "additionalProperties": {"type": "number", "multipleOf": 0.5}},
            "when": {"if": {"type": "string"}, "then": {"pattern": "^x"}, "else": {"const": 1}},
        },
        "required": ["place", "kind"], "additionalProperties": false,
        "dependencies": {"list": ["kind"]},
    });
    let mut all = Vec::new();
    places(&whole, "", &mut all);
    let odd = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(""),
        json!("any"),
        json!("x"),
        json!([]),
        json!([null]),
        json!({}),
        json!(["x", "x"]),
        json!([{"type": "any"}]),
        json!({"type": []}),
        json!({"$ref": "#/nowhere"}),
        json!({"enum": []}),
        json!({"items": []}),
    ];
    let mut numbers = Numbers(7);
    let mut found = Vec::new();
    for _ in 0..support::size(400, 20_000) {
        let mut damaged = whole.clone();
        for _ in 0..=numbers.below(3) {
            let place = &all[1 + numbers.below(all.len() - 1)];
            // The place may have gone with one before it.
            if let Some(value) = damaged.pointer_mut(place) {
                *value = odd[numbers.below(odd.len())].clone();
            }
        }
        found.extend(check(&damaged));
    }
    assert!(
        found.is_empty(),
        "{} faults, the first:\n{}",
        found.len(),
        found[..found.len().min(12)].join("\n")
    );
}

/// The definition that a host reads is the server's own where it is valid.
#[test]
fn a_valid_schema_goes_to_hosts_as_it_is() {
    for schema in [
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"a": {"type": "array", "items": {}}}}),
        json!({"type": "object", "properties": {"a": {"type": ["array", "null"], "items": {"type": "string"}}}, "definitions": {"A": {}}}),
    ] {
        let definition = ToolDefinition::new("t", "Does it.", schema.clone());
        assert_eq!(lower(&definition, Dialect::Mcp).tool["inputSchema"], schema);
    }
}
