//! Each change by what it means, and in which words.

use serde_json::{Value, json};
use toolbox::contract::ChangeKind::{Breaking, Widening, Wording};
use toolbox::contract::{ChangeKind, Contract};
use toolbox::definition::ToolAnnotations;
use toolbox::{Tool, ToolBox};

use super::{of, of_input, of_output, worst};

/// A closed object with one field, as the arguments of a function are.
fn one(schema: &Value) -> Value {
    json!({"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": false})
}

fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

#[track_caller]
fn check(found: Vec<toolbox::contract::Change>, expected: &[&str]) {
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

#[test]
fn arguments_that_come_and_go() {
    let (int, text) = (json!({"type": "integer"}), json!({"type": "string", "default": "x"}));
    let plain = object(json!({"a": int}), json!(["a"]));
    let with = |required: Value| object(json!({"a": int, "b": text}), required);
    check(of_input(&plain, &with(json!(["a"]))), &["widening: t: argument `b`: is new"]);
    check(
        of_input(&plain, &with(json!(["a", "b"]))),
        &["breaking: t: argument `b`: is new and required"],
    );
    check(of_input(&with(json!(["a"])), &plain), &["breaking: t: argument `b`: is gone"]);
    check(
        of_input(&with(json!(["a"])), &with(json!(["a", "b"]))),
        &["breaking: t: argument `b`: is required now"],
    );
    check(
        of_input(&with(json!(["a", "b"])), &with(json!(["a"]))),
        &["widening: t: argument `b`: is no longer required"],
    );
    // Where any field was taken, a field with a type refuses some.
    let open = |properties: Value| json!({"type": "object", "properties": properties});
    check(
        of_input(&open(json!({})), &open(json!({"b": int}))),
        &["breaking: t: argument `b`: is new, where any value was taken before"],
    );
    check(
        of_input(&open(json!({})), &plain),
        &[
            "breaking: t: argument `a`: is new and required",
            "breaking: t: arguments: no longer takes an object with fields that are not declared",
        ],
    );
}

/// One argument of this schema became one of that: what each means in arguments, and in a result.
#[test]
#[allow(clippy::too_many_lines, reason = "it is a table")]
fn schemas_that_grow_and_shrink() {
    let tree = |leaf: Value| json!({"anyOf": [leaf, {"type": "array", "items": {"$ref": "#/properties/a"}}]});
    let tagged = |tags: &[&str]| {
        let variant = |tag: &&str| {
            object(json!({"kind": {"const": tag}, "x": {"type": "integer"}}), json!(["kind"]))
        };
        json!({"oneOf": tags.iter().map(variant).collect::<Vec<_>>()})
    };
    for (narrow, wide) in [
        (json!({"type": "integer"}), json!({"type": "number"})),
        (json!({"type": "integer"}), json!({"type": ["integer", "null"]})),
        (json!({"type": "string"}), json!({"type": ["string", "integer"]})),
        (json!({"type": "string"}), json!({"anyOf": [{"type": "string"}, {"type": "null"}]})),
        (
            json!({"type": ["string", "null"]}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "integer"}]}),
        ),
        (json!({"enum": ["a", "b"]}), json!({"enum": ["a", "b", "c"]})),
        (json!({"const": "a"}), json!({"enum": ["a", "c"]})),
        (json!({"enum": ["a", "b"]}), json!({"type": "string"})),
        (json!({"enum": ["a", "b"]}), json!({"type": "string", "maxLength": 1})),
        (
            json!({"oneOf": [{"const": "a", "description": "A"}, {"const": "b"}]}),
            json!({"oneOf": [{"const": "a"}, {"const": "b"}, {"const": "c"}]}),
        ),
        (
            json!({"type": "integer", "minimum": 1, "maximum": 10}),
            json!({"type": "integer", "minimum": 0, "maximum": 10}),
        ),
        (
            json!({"type": "integer", "minimum": 1, "maximum": 10}),
            json!({"type": "integer", "minimum": 1, "maximum": 100}),
        ),
        (json!({"type": "integer", "minimum": 1}), json!({"type": "integer"})),
        (json!({"type": "number", "minimum": 1}), json!({"type": "number", "exclusiveMinimum": 0})),
        (json!({"type": "number", "exclusiveMaximum": 1}), json!({"type": "number", "maximum": 1})),
        (json!({"type": "integer", "multipleOf": 4}), json!({"type": "integer", "multipleOf": 2})),
        (json!({"type": "integer"}), json!({"type": "number", "multipleOf": 1})).clone(),
        (
            json!({"type": "string", "minLength": 1, "maxLength": 4}),
            json!({"type": "string", "minLength": 1, "maxLength": 5}),
        ),
        (json!({"type": "string", "minLength": 1}), json!({"type": "string"})),
        (json!({"type": "string", "pattern": "^a"}), json!({"type": "string"})),
        (json!({"type": "string", "format": "date"}), json!({"type": "string"})),
        (
            json!({"type": "integer", "format": "int32"}),
            json!({"type": "integer", "format": "int64"}),
        ),
        (
            json!({"type": "array", "items": {"type": "integer"}}),
            json!({"type": "array", "items": {"type": "number"}}),
        ),
        (
            json!({"type": "array", "items": {"type": "integer"}, "maxItems": 3}),
            json!({"type": "array", "items": {"type": "integer"}}),
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "integer"}], "items": false, "minItems": 1}),
            json!({"type": "array", "items": {"type": "integer"}}),
        ),
        (json!({"type": "array", "uniqueItems": true}), json!({"type": "array"})),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            json!({"type": "object", "additionalProperties": {"type": "number"}}),
        ),
        (json!({"type": "object", "additionalProperties": false}), json!({"type": "object"})),
        (json!({"type": "object", "propertyNames": {"maxLength": 3}}), json!({"type": "object"})),
        (
            json!({"type": "object", "patternProperties": {"^x": {"type": "integer"}}}),
            json!({"type": "object", "patternProperties": {"^x": {"type": "number"}}}),
        ),
        (
            object(json!({"b": {"type": "integer"}}), json!(["b"])),
            json!({"type": "object", "required": ["b"]}),
        ),
        (
            json!({"allOf": [{"type": "integer"}, {"minimum": 3}]}),
            json!({"type": "integer", "minimum": 2}),
        ),
        (json!({"type": "integer", "not": {"const": 3}}), json!({"type": "integer"})),
        (
            json!({"type": "integer", "if": {"minimum": 3}, "then": {"maximum": 5}}),
            json!({"type": "integer"}),
        ),
        (tagged(&["x", "y"]), tagged(&["x", "y", "z"])),
        (tree(json!({"type": "integer"})), tree(json!({"type": "number"}))),
        (json!({"type": "integer"}), json!(true)),
        (json!({"type": "string"}), json!({"type": "string", "minLength": 0})).clone(),
    ] {
        let is_same = narrow.get("minLength").is_none() && wide.get("minLength") == Some(&json!(0))
            || wide.get("multipleOf") == Some(&json!(1));
        let (less, more) = (one(&narrow), one(&wide));
        let (grown, shrunk) = if is_same { (Wording, Wording) } else { (Widening, Breaking) };
        assert_eq!(
            worst(&of_input(&less, &more)),
            Some(grown),
            "{narrow} to {wide}: {:?}",
            of_input(&less, &more)
        );
        assert_eq!(worst(&of_input(&more, &less)), Some(shrunk), "{wide} to {narrow}");
        assert_eq!(
            worst(&of_output(&more, &less)),
            Some(grown),
            "result {wide} to {narrow}: {:?}",
            of_output(&more, &less)
        );
        assert_eq!(worst(&of_output(&less, &more)), Some(shrunk), "result {narrow} to {wide}");
    }
}

#[test]
fn results_are_judged_the_other_way() {
    let int = json!({"type": "integer"});
    let open = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    let (small, large) = (
        open(json!({"a": int}), json!(["a"])),
        open(json!({"a": int, "b": int}), json!(["a", "b"])),
    );
    check(of_output(&small, &large), &["widening: t: result `b`: is new"]);
    check(of_output(&large, &small), &["breaking: t: result `b`: is gone"]);
    let optional = open(json!({"a": int, "b": int}), json!(["a"]));
    check(of_output(&large, &optional), &["breaking: t: result `b`: may be missing now"]);
    check(
        of_output(&optional, &small),
        &["breaking: t: result `b`: is gone: any value may be there"],
    );
    // What was closed had no such field; what is closed never has it again.
    let (small, large) = (
        object(json!({"a": int}), json!(["a"])),
        object(json!({"a": int, "b": int}), json!(["a"])),
    );
    check(of_output(&small, &large), &["breaking: t: result `b`: is new"]);
    check(of_output(&large, &small), &["breaking: t: result `b`: is gone"]);
    check(
        of_output(&one(&json!({"enum": ["x"]})), &one(&json!({"enum": ["x", "y"]}))),
        &["breaking: t: result `a`: may be \"y\" now"],
    );
    let input = json!({"type": "object"});
    let with = of(|tool| tool.with_output_schema(small.clone()), &input);
    let without = of(|tool| tool, &input);
    check(with.changes_since(&without), &["widening: t: the result has a schema now"]);
    check(without.changes_since(&with), &["breaking: t: the result has no schema any more"]);
}

#[test]
fn messages_name_what_changed() {
    for (old, new, expected) in [
        (
            json!({"type": "integer", "maximum": 100}),
            json!({"type": "integer", "maximum": 10}),
            "breaking: t: argument `a`: `maximum` is 10 now, and was 100",
        ),
        (
            json!({"type": "integer"}),
            json!({"type": "integer", "maximum": 10}),
            "breaking: t: argument `a`: `maximum` is 10 now, and there was none",
        ),
        (
            json!({"type": "integer", "maximum": 10}),
            json!({"type": "integer"}),
            "widening: t: argument `a`: `maximum` is gone, and was 10",
        ),
        (
            json!({"enum": ["x", "y"]}),
            json!({"enum": ["x"]}),
            "breaking: t: argument `a`: no longer takes \"y\"",
        ),
        (
            json!({"enum": ["x"]}),
            json!({"enum": ["x", "y"]}),
            "widening: t: argument `a`: takes \"y\" now",
        ),
        (
            json!({"type": ["string", "null"]}),
            json!({"type": "string"}),
            "breaking: t: argument `a`: no longer takes null",
        ),
        (
            json!({"type": "array", "items": {"type": "number"}}),
            json!({"type": "array", "items": {"type": "integer"}}),
            "breaking: t: argument `a[]`: no longer takes a fraction",
        ),
        (
            json!({"type": "string", "pattern": "^a"}),
            json!({"type": "string", "pattern": "^b"}),
            "breaking: t: argument `a`: `pattern` is \"^b\" now, and was \"^a\"",
        ),
        (
            json!({"type": "integer"}),
            json!({"type": "integer", "not": {"const": 3}}),
            "breaking: t: argument `a`: cannot be decided: whether a value meets its `not`",
        ),
        (
            json!({"type": "integer"}),
            json!({"type": "integer", "nullable": false}),
            "breaking: t: argument `a`: cannot be decided: whether `nullable` excludes a value",
        ),
        (
            json!({"type": "integer", "default": 1}),
            json!({"type": "integer", "default": 2}),
            "breaking: t: argument `a`: `default` is 2 now, and was 1",
        ),
        (
            json!({"type": "integer"}),
            json!({"type": "integer", "default": 2}),
            "wording: t: argument `a`: `default` is new",
        ),
        (
            json!({"type": "integer", "description": "A"}),
            json!({"type": "integer", "description": "B"}),
            "wording: t: argument `a`: `description` changed",
        ),
        (
            json!({"type": "integer"}),
            json!({"allOf": [{"type": "integer"}]}),
            "wording: t: arguments: the schema is written in another way, and means the same",
        ),
    ] {
        let found = of_input(&one(&old), &one(&new));
        assert_eq!(
            found.first().map(ToString::to_string).as_deref(),
            Some(expected),
            "{old} {new}: {found:?}"
        );
    }
    assert_eq!(
        of_input(&one(&json!({"$ref": "#/$defs/gone"})), &one(&json!({"$ref": "#/$defs/gone"}))),
        []
    );
}

/// A cycle without a step into the value proves nothing.
#[test]
fn references_without_an_end_prove_nothing() {
    let with = |a: Value| {
        let mut schema = one(&json!({"$ref": "#/$defs/A"}));
        schema["$defs"] = json!({"A": a});
        schema
    };
    for (a, expected) in [
        (json!({"anyOf": [{"$ref": "#/$defs/A"}, {"type": "integer"}]}), Some(Breaking)),
        (json!({"allOf": [{"$ref": "#/$defs/A"}, {"type": "integer"}]}), Some(Breaking)),
        (json!({"anyOf": [{"type": "string"}, {"$ref": "#/$defs/A"}]}), Some(Widening)),
    ] {
        assert_eq!(
            worst(&of_input(&one(&json!({"type": "string"})), &with(a.clone()))),
            expected,
            "{a}"
        );
    }
    let list = |item: Value| json!({"type": "object", "properties": {"value": item, "next": {"$ref": "#/$defs/A"}}});
    let (ints, numbers) =
        (with(list(json!({"type": "integer"}))), with(list(json!({"type": "number"}))));
    check(of_input(&ints, &numbers), &["widening: t: argument `value`: takes a fraction now"]);
    check(
        of_input(&numbers, &ints),
        &["breaking: t: argument `value`: no longer takes a fraction"],
    );
}

#[test]
fn drafts_are_read_as_they_are() {
    let of_draft = |schema: Value| {
        let mut schema = one(&schema);
        schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        schema
    };
    let pair = |kind: &str| {
        of_draft(json!({"type": "array", "items": [{"type": kind}], "additionalItems": false}))
    };
    assert_eq!(worst(&of_input(&pair("integer"), &pair("number"))), Some(Widening));
    assert_eq!(worst(&of_input(&pair("number"), &pair("integer"))), Some(Breaking));
    // `prefixItems` is no keyword of draft 7, and keeps nothing out.
    let ignored = of_draft(json!({"type": "array", "prefixItems": [{"type": "integer"}]}));
    assert_eq!(worst(&of_input(&ignored, &pair("integer"))), Some(Breaking));
}

#[test]
fn hints_break_where_they_promise_less() {
    let hints = |set: &[(&str, bool)]| {
        let mut all = ToolAnnotations::default();
        for (name, value) in set {
            match *name {
                "read_only" => all.read_only = Some(*value),
                "destructive" => all.destructive = Some(*value),
                "idempotent" => all.idempotent = Some(*value),
                _ => all.open_world = Some(*value),
            }
        }
        of(|tool| tool.with_annotations(all), &json!({"type": "object"}))
    };
    type Hints<'a> = &'a [(&'a str, bool)];
    let cases: [(Hints<'_>, Hints<'_>, ChangeKind); 8] = [
        (&[("read_only", true)], &[], Breaking),
        (&[], &[("read_only", true)], Widening),
        (&[("destructive", false)], &[], Breaking),
        (&[], &[("destructive", false)], Widening),
        (&[("idempotent", true)], &[("idempotent", false)], Breaking),
        (&[("open_world", false)], &[("open_world", true)], Breaking),
        (&[("open_world", true)], &[("open_world", false)], Widening),
        (&[], &[("open_world", true)], Wording),
    ];
    for (old, new, expected) in cases {
        let found = hints(new).changes_since(&hints(old));
        assert_eq!(worst(&found), Some(expected), "{old:?} to {new:?}: {found:?}");
    }
}

#[test]
fn tools_that_come_and_go() {
    let contract = |names: &[&str]| {
        let one = |name: &&str| {
            Tool::raw(
                *name,
                "Does it",
                json!({"type": "object"}),
                |_: toolbox::call::Arguments| async { "" },
            )
        };
        Contract::of(&ToolBox::from(names.iter().map(one).collect::<Vec<_>>()))
    };
    check(
        contract(&["list_file", "other"]).changes_since(&contract(&[
            "file_list",
            "list_files",
            "other",
        ])),
        &[
            "breaking: file_list: the tool is gone",
            "breaking: list_files: the tool is gone: is it `list_file` now?",
            "widening: list_file: the tool is new",
        ],
    );
    check(contract(&["a"]).changes_since(&contract(&["a"])), &[]);
    let text = of(|tool| tool.with_title("T"), &json!({"type": "object"}));
    check(
        text.changes_since(&of(|tool| tool, &json!({"type": "object"}))),
        &["wording: t: `title` is new"],
    );
    let version = |text: &str| of(|tool| tool.with_version(text), &json!({"type": "object"}));
    check(version("2").changes_since(&version("1")), &["wording: t: `version` changed"]);
    check(version("2").changes_since(&version("2")), &[]);
    let plain = of(|tool| tool, &json!({"type": "object"}));
    let ends = |note: &str| of(|tool| tool.deprecated(note), &json!({"type": "object"}));
    let found = ends("").changes_since(&plain);
    assert!(found.iter().all(|change| change.kind == Wording) && found.len() == 3, "{found:?}");
    let found = ends("use `u`").changes_since(&ends(""));
    assert!(found.iter().all(|change| change.kind == Wording) && found.len() == 2, "{found:?}");
}

/// What would take too long is not decided, and breaks.
#[test]
fn hostile_schemas_are_judged_in_bounded_steps() {
    let variants = |extra: &str| {
        let one = |at: usize| {
            let tag = if at == 0 { extra.to_owned() } else { format!("v{at}") };
            object(json!({"kind": {"const": tag}, "x": {"type": "integer"}}), json!(["kind"]))
        };
        json!({"oneOf": (0..100).map(one).collect::<Vec<_>>()})
    };
    let shared = |leaf: &str| {
        let mut schema = one(&json!({"$ref": "#/$defs/d0"}));
        let level = |at: usize| {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            json!({"type": "object", "properties": {"a": next, "b": next}, "additionalProperties": next})
        };
        let mut all: serde_json::Map<String, Value> =
            (0..60).map(|at| (format!("d{at}"), level(at))).collect();
        all.insert("d60".to_owned(), json!({"type": leaf}));
        schema["$defs"] = all.into();
        schema
    };
    let texts = |from: u32| {
        one(&json!({"enum": (from..3000).map(|at| format!("text {at}")).collect::<Vec<_>>()}))
    };
    let many = |keyword: &str| json!({"allOf": (0..500).map(|at| json!({keyword: at})).collect::<Vec<_>>()});
    for (old, new) in [
        (one(&variants("old")), one(&variants("new"))),
        (shared("integer"), shared("string")),
        (one(&many("minimum")), one(&many("maximum"))),
        (texts(0), texts(1)),
    ] {
        assert_eq!(worst(&of_input(&old, &new)), Some(Breaking));
    }
}
