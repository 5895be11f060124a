use jsonschema::{Draft, Validator};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{normalize, without_null};
use crate::schema::corpus::{CASES, Case};
use crate::schema::policing::Policing;
use crate::schema::sample::{Dice, any_json, any_schema};
use crate::schema::walk;

fn normal(schema: &Value) -> Value {
    let mut schema = schema.clone();
    normalize(&mut schema);
    schema
}

fn validator(schema: &Value) -> Validator {
    jsonschema::options().with_draft(Draft::Draft202012).build(schema).unwrap()
}

fn case(name: &str) -> &'static Case {
    CASES.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"))
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "so that a call holds nothing but `json!`")]
fn check(input: Value, expected: Value) {
    let normal = normal(&input);
    assert_eq!(normal.to_string(), expected.to_string(), "{input:#}");
}

#[test]
fn noise_goes_and_names_stay() {
    check(
        json!({"$schema": "x", "title": "T", "type": "object", "properties": {
            "title": {"type": "string", "title": "Title", "description": "  kept\nas it is "},
            "default": {"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255},
            "when": {"type": "string", "format": "date-time", "default": null},
        }, "required": ["title"]}),
        json!({"type": "object", "properties": {
            "title": {"type": "string", "description": "kept\nas it is"},
            "default": {"type": "integer", "minimum": 0, "maximum": 255},
            "when": {"type": "string", "format": "date-time"},
        }, "required": ["title"], "additionalProperties": false}),
    );
    // Data is not schema.
    check(
        json!({"const": {"title": "t", "format": "int32"}}),
        json!({"const": {"title": "t", "format": "int32"}}),
    );
}

#[test]
fn definitions_used_once_move() {
    check(
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A", "description": "here"}},
            "$defs": {"A": {"type": "string", "description": "there", "pattern": "^x"}, "B": {"$ref": "#/$defs/A"}}}),
        json!({"type": "object", "properties": {"a": {"type": "string", "description": "here", "pattern": "^x"}},
            "additionalProperties": false}),
    );
    // Small ones move everywhere.
    check(
        json!({"type": "array", "prefixItems": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}], "$defs": {"A": {"type": "string"}}}),
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "string"}]}),
    );
    // Recursive ones stay.
    check(
        json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}}}),
        json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}}}),
    );
    // References elsewhere keep everything in its place.
    check(
        json!({"$ref": "#/$defs/A/items", "$defs": {"A": {"items": {"type": "string", "title": "T"}}}}),
        json!({"$ref": "#/$defs/A/items", "$defs": {"A": {"items": {"type": "string"}}}}),
    );
}

#[test]
fn enums_are_one_list() {
    let plain = json!({"oneOf": [{"const": "a", "type": "string"}, {"enum": ["b", "c"]}]});
    check(plain, json!({"type": "string", "enum": ["a", "b", "c"]}));
    check(
        (case("DocMode").schema)(),
        json!({"type": "string", "oneOf": [
            {"enum": ["Other", "Another"]},
            {"description": "Be quick.", "const": "Fast"},
            {"description": "Be thorough.", "const": "Slow"},
        ]}),
    );
}

#[test]
fn objects_are_closed_once() {
    check(
        (case("Internal").schema)(),
        json!({"oneOf": [
            {"type": "object", "properties": {"kind": {"type": "string", "const": "Nothing"}}, "required": ["kind"],
                "additionalProperties": false},
            {"type": "object", "description": "Holds inner.", "properties": {
                "kind": {"type": "string", "const": "Newtype"},
                "a": {"type": "integer", "description": "Doc of a."}, "b": {"type": ["string", "null"]},
            }, "required": ["kind", "a"], "additionalProperties": false},
            {"type": "object", "properties": {"kind": {"type": "string", "const": "Struct"},
                "x": {"type": "integer", "minimum": 0, "maximum": 255}}, "required": ["kind", "x"],
                "additionalProperties": false},
            {"type": "object", "properties": {"kind": {"type": "string", "const": "Map"}}, "required": ["kind"],
                "additionalProperties": {"type": "integer"}},
        ]}),
    );
}

/// Values that each type accepts and refuses once it is closed; `zzz` is a name nobody declared.
#[test]
fn closed_types_refuse_unknown_names() {
    let inner = json!({"a": 1});
    let taken = [
        ("NestedStruct", json!({"one": inner, "title": "t"})),
        ("Twice", json!({"one": inner, "two": null, "many": [inner]})),
        ("TreeStruct", json!({"name": "n", "children": [{"name": "m"}]})),
        ("Internal", json!({"kind": "Newtype", "a": 1})),
        ("Internal", json!({"kind": "Map", "zzz": 1})),
        ("External", json!({"Newtype": {"a": 1}})),
        ("Adjacent", json!({"t": "Newtype", "c": inner})),
        ("FlattenStruct", json!({"own": 1, "a": 1})),
        ("FlattenMap", json!({"own": 1, "zzz": 1})),
        ("FlattenEnum", json!({"own": 1, "Newtype": inner})),
        ("FlattenTagged", json!({"own": 1, "kind": "Newtype", "a": 1})),
        ("FlattenTwo", json!({"p": 1, "t": "Newtype", "c": inner})),
        ("Mixed", json!({"tagged": {"kind": "Newtype", "a": 1}, "plain": inner})),
        ("DoublyTagged", json!({"outer": "First", "kind": "Newtype", "a": 1})),
        ("DenyingInternal", json!({"kind": "A", "a": 1})),
    ];
    let refused = [
        ("NestedStruct", json!({"one": {"a": 1, "zzz": 1}, "title": "t"})),
        ("Twice", json!({"one": inner, "many": [{"a": 1, "zzz": 1}]})),
        ("TreeStruct", json!({"name": "n", "children": [{"name": "m", "zzz": 1}]})),
        ("Internal", json!({"kind": "Newtype", "a": 1, "zzz": 1})),
        ("Internal", json!({"kind": "Nothing", "a": 1})),
        ("External", json!({"Newtype": {"a": 1, "zzz": 1}})),
        ("External", json!({"Newtype": inner, "zzz": 1})),
        ("Adjacent", json!({"t": "Unit", "zzz": 1})),
        ("FlattenStruct", json!({"own": 1, "a": 1, "zzz": 1})),
        ("FlattenEnum", json!({"own": 1, "Newtype": inner, "zzz": 1})),
        ("FlattenEnum", json!({"own": 1, "Newtype": {"a": 1, "zzz": 1}})),
        ("FlattenTagged", json!({"own": 1, "kind": "Newtype", "a": 1, "zzz": 1})),
        ("FlattenTagged", json!({"own": 1, "kind": "Nothing", "a": 1})),
        ("FlattenTwo", json!({"p": 1, "t": "Unit", "zzz": 1})),
        ("Mixed", json!({"tagged": {"kind": "Newtype", "a": 1, "zzz": 1}, "plain": inner})),
        (
            "Mixed",
            json!({"tagged": {"kind": "Newtype", "a": 1}, "plain": {"a": 1, "kind": "Newtype"}}),
        ),
        ("DoublyTagged", json!({"outer": "First", "kind": "Newtype", "a": 1, "zzz": 1})),
    ];
    for (expected, instances) in [(true, &taken[..]), (false, &refused[..])] {
        for (name, instance) in instances {
            let schema = normal(&(case(name).schema)());
            let taken = validator(&schema).is_valid(instance);
            assert_eq!(taken, expected, "{name}: {instance} under {schema:#}");
        }
    }
}

/// Closing refuses more and nothing else changes: same instances, and serde reads what the schema
/// takes.
#[test]
fn derived_types_keep_their_meaning() {
    for case in CASES {
        let raw = (case.schema)();
        let normal = normal(&raw);
        let (before, after) = (validator(&raw), validator(&normal));
        let mut known = 0;
        for seed in 1..400 {
            let mut dice = Dice(seed * 0x9e37_79b9);
            let mut instance = dice.instance(&raw, &raw, 0);
            if before.is_valid(&instance) {
                known += 1;
                assert!(after.is_valid(&instance), "{}: {instance} under {normal:#}", case.name);
            }
            for _ in 0..dice.below(3) {
                dice.mutate(&mut instance);
            }
            if after.is_valid(&instance) {
                assert!(before.is_valid(&instance), "{}: {instance}", case.name);
                assert!((case.reads)(&instance), "{}: {instance} under {normal:#}", case.name);
            }
        }
        assert!(known > 100, "{}: only {known} instances", case.name);
    }
}

#[test]
fn the_second_time_changes_nothing() {
    for case in CASES {
        let once = normal(&(case.schema)());
        assert_eq!(normal(&once).to_string(), once.to_string(), "{}", case.name);
        assert!(once.to_string().len() <= (case.schema)().to_string().len(), "{} grew", case.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn anything_at_all_survives(value in any_json()) {
        let once = normal(&value);
        prop_assert_eq!(&normal(&once), &once);
        let mut rest = value;
        without_null(&mut rest);
        prop_assert!(!without_null(&mut rest.clone()) || !without_null(&mut rest));
    }

    #[test]
    fn schemas_stay_schemas(schema in any_schema()) {
        let once = normal(&schema);
        prop_assert!(jsonschema::draft202012::meta::is_valid(&once), "{:#}", once);
        let twice = normal(&once);
        prop_assert_eq!(twice.to_string(), once.to_string(), "{:#}", schema);
    }

    /// Without closing (nothing declares properties) the instances are exactly the same.
    #[test]
    fn closing_only_refuses(schema in any_schema(), seed in 1u64..) {
        // Inside `not` nothing may change its meaning, and there closing would take more.
        let once = normal(&schema);
        let (Ok(before), Ok(after)) = (jsonschema::draft202012::new(&schema), jsonschema::draft202012::new(&once)) else {
            return Ok(());
        };
        if has(&schema, "not") || has(&schema, "oneOf") {
            return Ok(());
        }
        let mut dice = Dice(seed);
        for _ in 0..10 {
            let mut instance = dice.instance(&json!({"type": ["object", "array", "string"], "properties": {"a": {}, "b": {}, "kind": {}},
                "required": ["a"], "items": {}, "minItems": 1}), &Value::Null, 0);
            dice.mutate(&mut instance);
            if after.is_valid(&instance) {
                prop_assert!(before.is_valid(&instance), "{instance} under {once:#} from {schema:#}");
            }
        }
    }
}

fn has(schema: &Value, keyword: &str) -> bool {
    let mut found = false;
    walk::each(schema, &mut |map| found |= map.contains_key(keyword));
    found
}

#[test]
fn null_leaves_the_root() {
    let cases = [
        (
            json!({"type": ["integer", "null"], "minimum": 1, "default": null}),
            json!({"type": "integer", "minimum": 1}),
        ),
        (json!({"type": ["integer", "string", "null"]}), json!({"type": ["integer", "string"]})),
        (
            json!({"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "description": "d"}),
            json!({"description": "d", "$ref": "#/$defs/A"}),
        ),
        (
            json!({"anyOf": [{"type": "string", "description": "inner"}, {"type": "null"}], "description": "outer"}),
            json!({"type": "string", "description": "outer"}),
        ),
        (
            json!({"type": ["string", "null"], "enum": ["a", null]}),
            json!({"type": "string", "enum": ["a"]}),
        ),
        (json!({"enum": ["a", null]}), json!({"enum": ["a"]})),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "integer"}, {"const": null}]}),
            json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
        ),
        (
            json!({"anyOf": [{"type": ["string", "null"]}, {"type": "integer"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ),
    ];
    for (mut schema, expected) in cases {
        assert!(without_null(&mut schema), "{schema}");
        assert_eq!(schema, expected);
        assert!(!without_null(&mut schema));
    }
    for schema in [
        json!({"type": "null"}),
        json!({}),
        json!(true),
        json!({"type": "string"}),
        json!({"$ref": "#/$defs/A"}),
    ] {
        assert!(!without_null(&mut schema.clone()), "{schema}");
    }
}

#[test]
fn what_serde_leaves_to_others_is_known() {
    let cases: &[(&str, bool, bool)] = &[
        ("InnerStruct", false, true),
        ("UnitEnum", false, false),
        ("DocMode", false, false),
        ("Option<UnitEnum>", false, false),
        ("Option<i32>", false, false),
        ("Option<InnerStruct>", false, true),
        ("HashMap<String, i32>", false, false),
        ("Pair", false, false),
        ("Meters", false, false),
        ("TreeStruct", false, true),
        ("Everything", true, true),
        ("Untagged", false, true),
    ];
    for &(name, constrained, shaped) in cases {
        let found = normalize(&mut (case(name).schema)());
        assert_eq!(found, Policing { constrained, shaped }, "{name}");
    }
    let constrained = |schema: Value| normalize(&mut schema.clone()).constrained;
    assert!(!constrained(json!({"type": "integer", "format": "uint32", "minimum": 0})));
    assert!(!constrained(
        json!({"type": "integer", "format": "int8", "minimum": -128, "maximum": 127})
    ));
    assert!(constrained(json!({"type": "integer", "format": "uint32", "minimum": 1})));
    assert!(constrained(json!({"type": "integer", "format": "int32", "minimum": 0})));
    assert!(constrained(json!({"type": "number", "format": "double", "minimum": 0})));
    assert!(constrained(json!({"$ref": "other.json"})));
    assert!(constrained(
        json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "string", "pattern": "x"}}})
    ));
}

/// Many small definitions that would be huge if they were all written out, or very deep.
#[test]
fn hostile_definitions_stay_bounded() {
    let doubling = (0..28).map(|at| {
        let below = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        (format!("d{at}"), json!({"allOf": [below, below]}))
    });
    let chain = |count: usize, link: fn(Value) -> Value| {
        (0..count).map(move |at| {
            (format!("d{at}"), link(json!({"$ref": format!("#/$defs/d{}", at + 1)})))
        })
    };
    let schemas: Vec<Vec<(String, Value)>> = vec![
        doubling.collect(),
        chain(20_000, |next| next).collect(),
        chain(20_000, |next| json!({"type": "array", "items": next})).collect(),
        chain(4_000, |next| next).collect(),
        chain(4_000, |next| json!({"type": "array", "items": next})).collect(),
        chain(4_000, |mut next| {
            let name = next["$ref"].as_str().unwrap().to_owned();
            next["properties"] = json!({name: {}});
            next
        })
        .collect(),
    ];
    for definitions in schemas {
        let mut definitions: serde_json::Map<String, Value> = definitions.into_iter().collect();
        let last = format!("d{}", definitions.len());
        definitions
            .insert(last, json!({"type": "object", "properties": {"x": {"type": "string"}}}));
        let mut schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
        let before = schema.to_string().len();
        normalize(&mut schema);
        assert!(schema.to_string().len() <= before + 64 * 1024);
        assert!(!walk::is_deeper(&schema, 128));
    }
}

#[test]
fn deep_schemas_do_not_overflow() {
    for depth in [100, 128, 190, 1000] {
        let mut schema = json!({"type": "string"});
        for _ in 0..depth {
            schema = json!({"items": schema});
        }
        normalize(&mut schema);
        without_null(&mut schema);
    }
}
