//! Every type's schema, as each provider gets it.

use serde_json::Value;
use toolbox::dialect::{Dialect, lower};

use super::types;
use crate::schema::lowered::{each, sent};

/// The keywords that strict schemas of `OpenAI` may not contain.
const NOT_STRICT: &[&str] = &[
    "allOf",
    "not",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "then",
    "else",
    "oneOf",
    "minLength",
    "maxLength",
    "patternProperties",
    "unevaluatedProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "default",
];

fn check_strict(name: &str, root: &Value) {
    assert_eq!(root["type"], "object", "{name}: {root}");
    assert!(root.get("anyOf").is_none(), "{name}: {root}");
    each(root, &mut |schema| {
        let Value::Object(map) = schema else {
            assert_eq!(*schema, Value::Bool(false), "{name}: {root}");
            return;
        };
        for keyword in NOT_STRICT {
            assert!(!map.contains_key(*keyword), "{name}: {keyword} in {schema}");
        }
        assert!(!map.contains_key("$ref") || map.len() == 1, "{name}: {schema}");
        let of = |word: &str| match &map.get("type") {
            Some(Value::Array(words)) => words.iter().any(|own| own == word),
            Some(own) => **own == word,
            None => false,
        };
        if of("object") {
            assert_eq!(
                map.get("additionalProperties"),
                Some(&Value::Bool(false)),
                "{name}: {schema}"
            );
            let properties: Vec<&str> = match map.get("properties") {
                Some(Value::Object(all)) => all.keys().map(String::as_str).collect(),
                _ => Vec::new(),
            };
            let required: Vec<&str> = map
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            assert_eq!(properties, required, "{name}: {schema}");
        }
        if of("array") {
            let items = map.get("items").and_then(Value::as_object);
            assert!(
                items.is_some_and(|items| !items.is_empty()),
                "{name}: untyped items in {schema}"
            );
        }
    });
}

#[test]
fn every_lowered_schema_is_a_schema_and_strict_ones_keep_the_rules() {
    let groups = [
        types::numbers(),
        types::texts(),
        types::options(),
        types::containers(),
        types::structs(),
        types::choices(),
        types::flattened(),
        types::whole_objects(),
        types::attributes(),
    ];
    let (mut strict, mut all) = (0, 0);
    for tool in groups.into_iter().flatten() {
        for dialect in Dialect::ALL {
            let lowered = lower(tool.definition(), dialect);
            let Some(schema) = sent(&lowered.tool) else {
                let properties = tool.definition().input_schema["properties"].as_object();
                let bare = properties.is_none_or(serde_json::Map::is_empty);
                let gemini = matches!(dialect, Dialect::Gemini | Dialect::GeminiInteractions);
                assert!(gemini && bare, "{}", tool.name());
                continue;
            };
            let valid =
                jsonschema::draft202012::meta::validate(schema).map_err(|error| error.to_string());
            assert_eq!(valid, Ok(()), "{} for {dialect:?}: {schema}", tool.name());
            assert!(jsonschema::draft202012::new(schema).is_ok(), "{schema}");
            assert_eq!(schema["type"], "object", "{} for {dialect:?}: {schema}", tool.name());
            let open_ai = matches!(dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses);
            assert_eq!(lowered.strict_obstacle.is_some(), open_ai && !lowered.strict);
            if open_ai {
                all += 1;
                strict += u32::from(lowered.strict);
            }
            if lowered.strict {
                check_strict(tool.name(), schema);
            }
        }
    }
    assert!(strict > all / 2, "{strict} of {all}");
}
