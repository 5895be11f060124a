//! Output schemas are open to fields of later versions; those of arguments are closed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolbox::{Tool, schema, tool};

use support::call;

#[derive(Serialize, Deserialize, JsonSchema, Default, Clone)]
struct Inner {
    name: String,
    next: Option<Box<Inner>>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Tagged {
    Plain(Inner),
    Other { inner: Inner },
}

#[derive(Serialize, Deserialize, JsonSchema, Clone)]
enum External {
    Struct { inner: Inner },
}

#[derive(Serialize, Deserialize, JsonSchema, Clone)]
#[serde(untagged)]
enum Untagged {
    One(Inner),
    Many(Vec<Inner>),
}

#[derive(Serialize, Deserialize, JsonSchema, Default, Clone)]
struct More {
    count: u8,
}

#[derive(Serialize, Deserialize, JsonSchema, Default, Clone)]
struct Flat {
    #[serde(flatten)]
    inner: Inner,
    #[serde(flatten)]
    more: More,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone)]
struct Outer {
    inner: Inner,
    list: Vec<Inner>,
    map: BTreeMap<String, Inner>,
    pair: (Inner, u8),
    tagged: Vec<Tagged>,
    external: Vec<External>,
    untagged: Vec<Untagged>,
    flat: Flat,
}

#[derive(Serialize, Deserialize, JsonSchema, Default, Clone)]
#[serde(deny_unknown_fields)]
struct Closed {
    name: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Default, Clone)]
struct Around {
    closed: Closed,
    open: Inner,
}

fn inner() -> Inner {
    Inner { name: "a".into(), next: Some(Box::default()) }
}

fn outer() -> Outer {
    Outer {
        inner: inner(),
        list: vec![inner()],
        map: [("a".to_owned(), inner())].into(),
        pair: (inner(), 1),
        tagged: vec![Tagged::Plain(inner()), Tagged::Other { inner: inner() }],
        external: vec![External::Struct { inner: inner() }],
        untagged: vec![Untagged::One(inner()), Untagged::Many(vec![inner()])],
        flat: Flat { inner: inner(), more: More::default() },
    }
}

/// Returns the value once for each object in it that is written by a struct, with a field more in
/// that object.
fn later_versions(value: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    let mut paths = vec![String::new()];
    while let Some(path) = paths.pop() {
        let below: Vec<String> = match value.pointer(&path) {
            Some(Value::Object(fields)) => fields.keys().cloned().collect(),
            Some(Value::Array(values)) => (0..values.len()).map(|at| at.to_string()).collect(),
            _ => continue,
        };
        paths.extend(below.iter().map(|key| format!("{path}/{key}")));
        let is_struct = value.pointer(&path).is_some_and(Value::is_object)
            && path != "/map"
            && !below.iter().any(|key| key == "Struct");
        if is_struct {
            let mut later = value.clone();
            later.pointer_mut(&path).unwrap()["added_later"] = json!({"x": [1]});
            found.push(later);
        }
    }
    found
}

#[test]
fn a_field_of_a_later_version_is_no_fault_anywhere() {
    let written = serde_json::to_value(outer()).unwrap();
    let open = jsonschema::validator_for(&schema::for_output::<Outer>()).unwrap();
    assert!(open.is_valid(&written), "{written}");
    let later = later_versions(&written);
    assert!(later.len() > 20, "{}", later.len());
    for later in &later {
        assert!(open.is_valid(later), "{later}");
    }
    // What the schema says of known fields still holds.
    for (path, wrong) in
        [("/inner/name", json!(1)), ("/flat/count", json!("x")), ("/list/0", json!([]))]
    {
        let mut value = written.clone();
        *value.pointer_mut(path).unwrap() = wrong;
        assert!(!open.is_valid(&value), "{value}");
    }
    let closed = jsonschema::validator_for(&schema::for_input::<Outer>()).unwrap();
    assert!(closed.is_valid(&written));
    for later in &later {
        assert!(!closed.is_valid(later), "{later}");
    }
}

#[test]
fn deny_unknown_fields_closes_its_own_object_alone() {
    let schema = schema::for_output::<Around>();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut value = serde_json::to_value(Around::default()).unwrap();
    value["open"]["more"] = json!(1);
    value["more"] = json!(1);
    assert!(validator.is_valid(&value), "{schema}");
    value["closed"]["more"] = json!(1);
    assert!(!validator.is_valid(&value), "{schema}");
}

#[test]
fn tools_declare_open_results_and_closed_arguments() {
    /// Returns what it is given.
    #[tool]
    fn found(around: Around) -> Result<Vec<Around>, String> {
        Ok(vec![around])
    }
    /// Returns nothing, perhaps.
    #[tool]
    async fn perhaps() -> Option<Inner> {
        None
    }
    let closed =
        |schema: &Value| schema.to_string().matches("\"additionalProperties\":false").count();
    for (tool, (arguments, result)) in [(found::tool(), (4, 1)), (perhaps::tool(), (1, 0))] {
        let tool: Tool = tool;
        let definition = tool.definition();
        let output = definition.output_schema.as_ref().unwrap();
        assert_eq!(
            (closed(&definition.input_schema), closed(output)),
            (arguments, result),
            "{output}"
        );
    }
    let arguments =
        json!({"around": {"closed": {"name": ""}, "open": {"name": "", "next": null, "x": 1}}});
    let refused = call(&found::tool(), arguments.to_string());
    assert_eq!(refused.code(), Some("args.unknown_name"), "{}", refused.text());
}
