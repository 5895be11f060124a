//! Agreement with other implementations: `serde_json` about syntax, `jsonschema` about schemas.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{CheckOutcome, ValidationLimits, check_arguments, conforms};
use super::path_at;
use super::search_schema;
use crate::validate::json;
use crate::validate::json::{JsonKind, Node};

fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-5_i64..12).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-20_i32..20).prop_map(|n| Value::from(f64::from(n) / 4.0)),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any_number(),
        "[a-e]{0,4}".prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-d]|kind|.{0,3}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn to_value(node: Node<'_>) -> Value {
    match node.kind() {
        JsonKind::Null => Value::Null,
        JsonKind::Bool => Value::Bool(node.is_true()),
        JsonKind::Number => serde_json::from_str(node.source()).expect("a number"),
        JsonKind::String => Value::String(node.string().into_owned()),
        JsonKind::Array => node.items().map(to_value).collect(),
        JsonKind::Object => node
            .fields()
            .map(|(key, value)| (key.string().into_owned(), to_value(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

/// The two parsers differ in three ways on purpose: ours refuses more than 64 levels (serde 127),
/// and reports duplicate keys and `1e400` as flaws of a readable tree (serde keeps the last key,
/// and refuses the number).
fn assert_same_syntax(text: &str) {
    let ours = json::parse(text, 64);
    let theirs = serde_json::from_str::<Value>(text);
    match (&ours, &theirs) {
        (Ok(document), Ok(value)) => {
            let duplicates = document.flaws().iter().any(|f| matches!(f, json::Flaw::Duplicate(_)));
            assert!(duplicates || to_value(document.root()) == *value, "{text}");
            assert!(!document.flaws().iter().any(|f| matches!(f, json::Flaw::Range(_))), "{text}");
        }
        (Ok(document), Err(error)) => {
            assert!(
                document.flaws().iter().any(|f| matches!(f, json::Flaw::Range(_))),
                "only serde refuses {text}: {error}"
            );
        }
        (Err(json::ParseError::TooDeep), _) | (Err(_), Err(_)) => {}
        (Err(refusal), Ok(_)) => panic!("only we refuse {text}: {refusal:?}"),
    }
}

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "'",
    "a",
    "query",
    "\"limit\"",
    "5",
    "-",
    ".",
    "e9",
    "0",
    "null",
    "true",
    "True",
    "\n",
    " ",
    "\u{feff}",
    "```",
    "\\u",
    "d83d",
    "\\ud83d\\ude00",
    "é",
    "1e400",
    "\u{0}",
    "//",
    "<|",
    "{}",
    "\"a\":",
];

fn mutated() -> impl Strategy<Value = String> {
    let base = prop_oneof![
        any_value().prop_map(|value| value.to_string()),
        any_value().prop_map(|value| Value::from(value.to_string()).to_string()),
        Just(
            r#"{"query":"a","limit":"5","filters":"[{\"since\":\"x\"}]","exact":null}"#.to_owned()
        ),
        prop::collection::vec(prop::sample::select(PIECES), 0..12).prop_map(|parts| parts.concat()),
    ];
    let edit = (any::<prop::sample::Index>(), 0_usize..3, prop::sample::select(PIECES));
    (base, prop::collection::vec(edit, 0..4)).prop_map(|(text, edits)| {
        let mut chars: Vec<char> = text.chars().collect();
        for (at, remove, insert) in edits {
            let at = at.index(chars.len() + 1);
            let end = (at + remove).min(chars.len());
            chars.splice(at..end, insert.chars());
        }
        chars.into_iter().collect()
    })
}

fn schemas() -> Vec<Value> {
    vec![
        json!(true),
        json!({"type": "integer"}),
        json!({"type": ["string", "null"], "minLength": 1, "maxLength": 3}),
        json!({"type": "number", "minimum": -1, "exclusiveMaximum": 4.5}),
        json!({"type": "number", "exclusiveMinimum": 0, "maximum": 3}),
        json!({"multipleOf": 3}),
        json!({"multipleOf": 0.5}),
        json!({"enum": ["a", 1, null, [], {"a": 1.0}]}),
        json!({"const": {"a": [1, "b"]}}),
        json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}),
        json!({"prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": false}),
        json!({"uniqueItems": true}),
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
               "required": ["a"], "additionalProperties": false}),
        json!({"properties": {"a": true}, "additionalProperties": {"type": "string"}}),
        json!({"minProperties": 1, "maxProperties": 2}),
        json!({"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]}),
        json!({"oneOf": [{"type": "integer"}, {"minimum": 2}, {"type": "object", "minProperties": 2}]}),
        json!({"allOf": [{"minLength": 1}, {"maxLength": 2}, {"minItems": 1}]}),
        json!({"not": {"type": ["string", "object"]}}),
        json!({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "array", "items": {"$ref": "#"}}}}),
        json!({"type": "object", "additionalProperties": {"$ref": "#"}}),
        json!({"allOf": [{"properties": {"a": true}}], "properties": {"b": true},
               "anyOf": [{"properties": {"c": {"type": "integer"}}, "required": ["c"]}, {"required": ["b"]}, {"type": "string"}],
               "unevaluatedProperties": false}),
        json!({"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"]},
            {"type": "object", "properties": {"kind": {"const": "b"}, "a": {"type": "null"}}, "required": ["kind"]}]}),
        #[cfg(feature = "pattern")]
        json!({"pattern": "^[a-c]+$"}),
        #[cfg(feature = "pattern")]
        json!({"patternProperties": {"^[ab]$": {"type": "integer"}}, "additionalProperties": false}),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn syntax_agrees_with_serde(text in mutated(), value in any_value()) {
        assert_same_syntax(&text);
        assert_same_syntax(&value.to_string());
        assert_same_syntax(&serde_json::to_string_pretty(&value).expect("a value can be written"));
    }

    #[test]
    fn examination_answers_everything(text in mutated(), offset in 0_usize..80) {
        // j32: no panic, and what is repaired is JSON that needs no further repair.
        path_at(&text, offset);
        for schema in [search_schema(), json!({"type": "object"}), json!({})] {
            match check_arguments(&text, &schema, &ValidationLimits::default()) {
                CheckOutcome::Valid => prop_assert!(serde_json::from_str::<Value>(&text).is_ok()),
                CheckOutcome::Repaired { text: repaired, repairs } => {
                    prop_assert!(serde_json::from_str::<Value>(&repaired).is_ok(), "{text}");
                    prop_assert!(!repairs.is_empty());
                    prop_assert_eq!(check_arguments(&repaired, &schema, &ValidationLimits::default()), CheckOutcome::Valid);
                }
                CheckOutcome::Invalid { faults, .. } => {
                    prop_assert!(!faults.is_empty());
                    for fault in faults.iter() {
                        prop_assert!(!fault.to_string().is_empty());
                    }
                }
            }
        }
    }

    #[test]
    fn checks_agree_with_jsonschema(value in any_value()) {
        let text = value.to_string();
        for schema in schemas() {
            let theirs = jsonschema::draft202012::new(&schema).expect("a schema").is_valid(&value);
            let faults = conforms(&text, &schema, &schema, "", &ValidationLimits::default());
            prop_assert_eq!(theirs, faults.is_empty(), "{} against {}: {:?}", text, schema, faults);
        }
    }

    #[test]
    fn a_cut_off_value_is_refused(value in any_value(), end in any::<prop::sample::Index>()) {
        let text = json!({"a": value}).to_string();
        let end = floor_char(&text, end.index(text.len()).max(1));
        prop_assert!(matches!(
            check_arguments(&text[..end], &json!({}), &ValidationLimits::default()),
            CheckOutcome::Invalid { .. }
        ), "{}", &text[..end]);
    }

    #[test]
    fn any_offset_of_any_text_has_a_path(text in ".{0,40}", offset in 0_usize..50) {
        path_at(&text, offset);
    }
}

fn floor_char(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}
