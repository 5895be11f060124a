//! Keywords that depend on others: what is evaluated, what a reference means, in which draft.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::{ValidationLimits, conforms};
use crate::call::FaultKind;

/// Returns the faults of a value; none if it fits.
fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let faults = conforms(&value.to_string(), schema, schema, "", &ValidationLimits::default());
    faults.iter().map(|fault| format!("{}: {fault}", fault.code())).collect()
}

/// Small schemas about the fields `a` to `c` and the first items.
fn any_schema() -> impl Strategy<Value = Value> {
    let name = || prop::sample::select(vec!["a", "b", "c"]);
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({"type": "integer"})),
        Just(json!({"type": "object"})),
        name().prop_map(|name| json!({"required": [name]})),
        name().prop_map(|name| json!({"properties": {name: {"type": "integer"}}})),
        name().prop_map(|name| json!({"$ref": format!("#/$defs/{name}")})),
        name().prop_map(|name| json!({"$ref": format!("part#the-{name}")})),
        name().prop_map(|name| json!({"$dynamicRef": format!("part#{name}")})),
        Just(json!({"prefixItems": [{"type": "integer"}, true]})),
        Just(json!({"contains": {"type": "string"}, "minContains": 0})),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let list = || prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            list().prop_map(|all| json!({"allOf": all})),
            list().prop_map(|all| json!({"anyOf": all})),
            list().prop_map(|all| json!({"oneOf": all})),
            inner.clone().prop_map(|not| json!({"not": not})),
            list().prop_map(|all| json!({"if": all[0], "then": all.last()})),
            list().prop_map(|all| json!({"if": all[0], "else": all.last()})),
            (name(), inner.clone()).prop_map(|(name, s)| json!({"dependentSchemas": {name: s}})),
            (name(), inner.clone()).prop_map(|(name, s)| json!({"properties": {name: s}})),
            inner.clone().prop_map(|s| json!({"items": s})),
            inner.clone().prop_map(|s| json!({"contains": s})),
            inner.clone().prop_map(|s| json!({"propertyNames": s})),
            (inner.clone(), inner.clone()).prop_map(|(s, rest)| merged(
                &s,
                "unevaluatedItems",
                rest
            )),
            (inner.clone(), inner.clone()).prop_map(|(s, rest)| merged(
                &s,
                "unevaluatedProperties",
                rest
            )),
        ]
    })
}

fn merged(schema: &Value, keyword: &str, rest: Value) -> Value {
    let mut map = schema.as_object().cloned().unwrap_or_default();
    map.insert(keyword.to_owned(), rest);
    map.into()
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(1)), Just(json!("x")), Just(json!({})), Just(json!([]))];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-d]", inner), 0..4)
                .prop_map(|fields| fields.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    /// Definitions do not refer to later ones, so nothing is endless.
    #[test]
    fn applicators_agree_with_jsonschema(schema in any_schema(), value in any_value()) {
        let root = json!({
            "$id": "https://tools.example/root",
            "allOf": [schema],
            "$defs": {
                "a": {"$dynamicAnchor": "a", "properties": {"a": true}, "prefixItems": [true]},
                "b": {"$dynamicAnchor": "b", "type": "object", "unevaluatedProperties": {"type": "integer"}},
                "c": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "part#the-a"}]},
                "part": {
                    "$id": "part",
                    "$defs": {
                        "x": {"$dynamicAnchor": "a", "$anchor": "the-a", "contains": {"type": "integer"}},
                        "y": {"$dynamicAnchor": "b", "$anchor": "the-b", "$ref": "#the-a", "required": ["b"]},
                        "z": {"$dynamicAnchor": "c", "$anchor": "the-c", "$dynamicRef": "#a"},
                    },
                },
            },
        });
        let theirs = jsonschema::draft202012::new(&root).expect("a schema").is_valid(&value);
        let ours = faults(&root, &value);
        prop_assert_eq!(theirs, ours.is_empty(), "{} against {}: {:?}", value, root, ours);
    }
}

/// Each case: a schema, a value that fits or of which it cannot be told, and one that surely does
/// not fit.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn a_value_is_refused_only_if_it_surely_does_not_fit() {
    let draft = |name: &str, mut schema: Value| {
        schema["$schema"] = format!("http://json-schema.org/{name}").into();
        schema
    };
    let two = |a: Value, b: Value| json!({"type": "string", "oneOf": [a, b]});
    let cases = [
        // A format that is not enforced here may be what tells two alternatives apart.
        (two(json!({"format": "ipv4"}), json!({"format": "ipv6"})), json!("::1"), json!(1)),
        (json!({"not": {"format": "email"}, "maxLength": 1}), json!("x"), json!("xx")),
        (
            json!({"not": {"dependencies": {"a": {"$ref": "other"}}}, "maxProperties": 1}),
            json!({"a": 1}),
            json!({"a": 1, "b": 1}),
        ),
        // What another document says is not known.
        (json!({"$ref": "https://other.example/x#/a", "type": "object"}), json!({}), json!([])),
        (
            json!({"allOf": [{"$ref": "other"}], "unevaluatedItems": false, "maxItems": 1}),
            json!([1]),
            json!([1, 2]),
        ),
        // A name that is given twice, or that depends on a draft that is not named.
        (
            json!({"items": {"$ref": "#x"}, "$defs": {"a": {"$anchor": "x", "type": "null"}, "b": {"$anchor": "x"}}, "maxItems": 1}),
            json!([1]),
            json!([1, 2]),
        ),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"id": "http://x/", "type": "null"}}, "maxItems": 1}),
            json!([1]),
            json!([1, 2]),
        ),
        (
            json!({"$ref": "#/x/a", "x": {"a": {"$id": "http://x/", "$ref": "#/y"}}, "y": false, "maxItems": 1}),
            json!([1]),
            json!([1, 2]),
        ),
        // A part in another language.
        (
            draft(
                "draft-07/schema",
                json!({"items": {"$id": "http://x/", "$schema": "https://json-schema.org/draft/2020-12/schema", "maximum": 1}}),
            ),
            json!([2]),
            Value::Null,
        ),
        // Keywords of a later draft say nothing.
        (
            draft("draft-07/schema", json!({"prefixItems": [false], "maxItems": 1})),
            json!([1]),
            json!([1, 2]),
        ),
        (
            draft("draft-07/schema", json!({"unevaluatedProperties": false, "required": ["a"]})),
            json!({"a": 1}),
            json!({}),
        ),
        (
            draft("draft-07/schema", json!({"dependentRequired": {"a": ["b"]}, "required": ["a"]})),
            json!({"a": 1}),
            json!({}),
        ),
        (
            draft("draft-06/schema", json!({"if": true, "then": false, "const": 1})),
            json!(1),
            json!(2),
        ),
        (
            draft(
                "draft-04/schema",
                json!({"const": 1, "propertyNames": false, "maxProperties": 1}),
            ),
            json!({"a": 1}),
            json!({"a": 1, "b": 2}),
        ),
        (
            draft("draft/2019-09/schema", json!({"prefixItems": [false], "maxItems": 1})),
            json!([1]),
            json!([1, 2]),
        ),
        // An item that meets `contains` is evaluated, but not in 2019-09.
        (
            json!({"contains": {"const": 1}, "unevaluatedItems": false}),
            json!([1, 1]),
            json!([1, 2]),
        ),
        (
            draft(
                "draft/2019-09/schema",
                json!({"contains": {"const": 1}, "unevaluatedItems": {"maximum": 1}}),
            ),
            json!([1]),
            json!([2, 1]),
        ),
        // In 2019-09, an item that meets `contains` is left to `unevaluatedItems`.
        (
            draft(
                "draft/2019-09/schema",
                json!({"contains": {"const": 2}, "unevaluatedItems": {"minimum": 3}, "minContains": 0}),
            ),
            json!([3]),
            json!([2]),
        ),
        // A reference is dynamic only if it leads to a dynamic anchor at first.
        (
            json!({"$id": "http://x/list", "$ref": "part", "$defs": {
                "item": {"$dynamicAnchor": "item"},
                "part": {"$id": "part", "items": {"$dynamicRef": "#item"}, "$defs": {"any": {"$anchor": "item", "type": "integer"}}}}}),
            json!([1]),
            json!(["x"]),
        ),
        // The outermost schema of the name decides.
        (
            json!({"$id": "http://x/list", "$ref": "part", "$defs": {
                "item": {"$dynamicAnchor": "item", "type": "integer"},
                "part": {"$id": "part", "items": {"$dynamicRef": "#item"}, "$defs": {"any": {"$dynamicAnchor": "item"}}}}}),
            json!([1]),
            json!(["x"]),
        ),
    ];
    for (schema, fits, not) in cases {
        assert_eq!(faults(&schema, &fits), Vec::<String>::new(), "{schema} {fits}");
        assert!(not.is_null() || !faults(&schema, &not).is_empty(), "{schema} {not}");
    }
}

#[test]
fn what_is_not_evaluated_is_named_with_its_path() {
    let schema = json!({
        "prefixItems": [{"type": "object", "allOf": [{"properties": {"name": true}}], "unevaluatedProperties": false}],
        "unevaluatedItems": false,
    });
    assert_eq!(
        faults(&schema, &json!([{"nmae": 1}, 2])),
        [
            "args.unknown_name: `[0].nmae` is not a field; did you mean `name`? The fields are `name`",
            "args.rejected: `[1]` must be left out",
        ]
    );
    let schema = json!({"properties": {"a": true}, "unevaluatedProperties": {"type": "integer"}});
    assert_eq!(
        faults(&schema, &json!({"a": "x", "b": "x"})),
        [r#"args.wrong_type: `b` must be an integer, got the string "x""#]
    );
}

/// Work is counted, so each of these ends after a bounded number of steps, in a plain fault.
#[test]
fn hostile_applicators_end_in_a_plain_fault() {
    let wide: Value = (0..1_000).map(|n| json!({"properties": {format!("x{n}"): true}})).collect();
    let patterns: Map<String, Value> =
        (0..2_000).map(|n| (format!("^x{n}$"), json!(true))).collect();
    let fields: Map<String, Value> = (0..20_000).map(|n| (format!("k{n}"), json!(1))).collect();
    let mut hops = Map::new();
    for n in 0..2_000 {
        let next = format!("part{}", n + 1);
        hops.insert(
            format!("d{n}"),
            json!({"$id": format!("part{n}"), "$dynamicAnchor": "n", "$ref": next}),
        );
    }
    let few = json!({"a": 1});
    let fields = Value::Object(fields);
    let mut cases = vec![
        (json!({"$dynamicRef": "#n", "$dynamicAnchor": "n"}), &few),
        (json!({"$recursiveRef": "#", "$recursiveAnchor": true}), &few),
        (json!({"unevaluatedProperties": false, "$ref": "#"}), &few),
        (json!({"unevaluatedItems": false, "anyOf": [{"$ref": "#"}]}), &few),
        (json!({"allOf": wide, "unevaluatedProperties": false}), &fields),
        (json!({"$ref": "part0", "$defs": hops}), &few),
    ];
    if cfg!(feature = "pattern") {
        let schema =
            json!({"allOf": [{"patternProperties": patterns}], "unevaluatedProperties": true});
        cases.push((schema, &fields));
    }
    for (at, (schema, value)) in cases.iter().enumerate() {
        let faults = conforms(&value.to_string(), schema, schema, "", &ValidationLimits::default());
        let kinds: Vec<_> = faults.iter().map(|fault| fault.kind).collect();
        assert_eq!(kinds, [FaultKind::SchemaTooLarge], "{at}");
    }
}

/// Each level asks twice and more for the one below it, which is looked at once.
#[test]
fn schemas_that_double_take_as_many_steps_as_they_are() {
    let doubled: [fn(Value) -> Value; 7] = [
        |inner| json!({"allOf": [inner.clone(), inner]}),
        |inner| json!({"anyOf": [inner.clone(), inner]}),
        |inner| json!({"oneOf": [inner.clone(), {"allOf": [inner.clone(), inner, false]}]}),
        |inner| json!({"anyOf": [inner.clone(), inner], "unevaluatedProperties": true}),
        |inner| json!({"if": inner.clone(), "then": inner.clone(), "else": inner, "unevaluatedProperties": true}),
        |inner| json!({"if": inner.clone(), "then": inner.clone(), "else": inner}),
        |inner| json!({"dependentSchemas": {"a": inner.clone()}, "$ref": inner["$ref"]}),
    ];
    for (at, level) in doubled.iter().enumerate() {
        for (leaf, expected) in [
            (json!({"properties": {"a": {"type": "integer"}}}), vec![]),
            (json!({"properties": {"a": {"type": "string"}}}), vec![FaultKind::WrongType]),
        ] {
            let below = |n| json!({"$ref": format!("#/$defs/d{}", n + 1)});
            let mut levels: Map<String, Value> =
                (0..70).map(|n| (format!("d{n}"), level(below(n)))).collect();
            levels.insert("d70".to_owned(), leaf);
            let schema = json!({"$ref": "#/$defs/d0", "$defs": levels});
            let faults = conforms(r#"{"a":1}"#, &schema, &schema, "", &ValidationLimits::default());
            let kinds: Vec<_> = faults.iter().map(|fault| fault.kind).collect();
            assert_eq!(kinds, expected, "{at}");
        }
    }
}

/// Identifiers that grow with each level are left alone before they fill the memory.
#[test]
fn an_endless_identifier_names_nothing() {
    let long = "x".repeat(1_000);
    let schema = (0..60).fold(
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}),
        |inner, n| json!({"$id": format!("{long}{n}/"), "allOf": [inner]}),
    );
    // The reference is within its own part, whatever that part is called.
    assert!(faults(&schema, &json!(1)).is_empty());
}
