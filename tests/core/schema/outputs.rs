//! Output schemas are open to fields of later versions; those of arguments are closed.

use crate::bounded::tokio;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolbox::call::FailureKind;
use toolbox::{Tool, ToolBox, ToolCall, schema, tool, tools};

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

#[derive(Serialize, JsonSchema)]
struct Measured {
    mean: f64,
    all: Vec<f64>,
    least: Option<f64>,
}

/// Measures.
#[tool]
fn measure(mean: &str, last: &str) -> Measured {
    let read = |text: &str| text.parse().unwrap();
    Measured { mean: read(mean), all: vec![1.0, read(last)], least: Some(read(last)) }
}

/// Measures and waits.
#[tool]
async fn measure_later(mean: String) -> Measured {
    toolbox_sleep().await;
    Measured { mean: mean.parse().unwrap(), all: Vec::new(), least: None }
}

async fn toolbox_sleep() {
    tokio::task::yield_now().await;
}

#[derive(Serialize, JsonSchema)]
struct Peaks {
    least: Option<f64>,
    peak: Peak,
}

#[derive(Serialize, JsonSchema)]
struct Peak {
    least: f64,
    /// Its name is a word of the sentences about arguments.
    argument: f64,
}

/// Measures a peak, of which a field is called as an optional one.
#[tool]
fn peaks(least: &str) -> Peaks {
    Peaks {
        least: None,
        peak: Peak { least: least.parse().unwrap(), argument: least.parse().unwrap() },
    }
}

/// Returns one number.
#[tool]
fn mean(of: &str) -> f64 {
    of.parse().unwrap()
}

#[derive(Serialize, JsonSchema)]
struct Written {
    #[serde(serialize_with = "as_text")]
    count: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn as_text<S: serde::Serializer>(count: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&count.to_string())
}

/// Writes a number as a text.
#[tool]
fn written() -> Written {
    Written { count: 5 }
}

/// What a type writes that its schema does not describe fails with its place, before a host sees
/// it.
#[tokio::test]
async fn an_output_that_does_not_fit_its_own_schema_is_a_failure() {
    let toolbox = ToolBox::from(tools![measure, measure_later, peaks, mean, written]);
    let null = "(NaN and infinity are written as null)";
    let cases = [
        ("measure", r#"{"mean":"1.5","last":"2"}"#, None),
        ("measure", r#"{"mean":"NaN","last":"2"}"#, Some("`mean` must be a number, got null")),
        ("measure", r#"{"mean":"1","last":"-inf"}"#, Some("`all[1]` must be a number, got null")),
        ("measure_later", r#"{"mean":"1"}"#, None),
        ("measure_later", r#"{"mean":"inf"}"#, Some("`mean` must be a number, got null")),
        ("peaks", r#"{"least":"1"}"#, None),
        ("peaks", r#"{"least":"NaN"}"#, Some("`peak.least` must be a number, got null")),
        ("peaks", r#"{"least":"NaN"}"#, Some("`peak.argument` must be a number, got null")),
        ("mean", r#"{"of":"1"}"#, None),
        ("mean", r#"{"of":"NaN"}"#, Some("the tool's output is NaN, which is no number in JSON")),
        ("written", "{}", Some("`count` must be an integer, got the string \"5\"")),
    ];
    // Each is told the first time and later on, when what fits is no longer looked at.
    let rounds = (0..40).flat_map(|round| cases.map(|case| (round, case)));
    // What a type writes in another form each time is told the first times.
    let rounds = rounds.filter(|(round, (tool, ..))| *round < 10 || *tool != "written");
    for (_, (tool, arguments, fault)) in rounds {
        let result = toolbox.call(ToolCall::new("1", tool, arguments)).await;
        let text = result.text();
        match fault {
            None => assert!(!result.is_error(), "{tool} {arguments}: {text}"),
            Some(fault) => {
                assert_eq!(result.failure_kind(), Some(FailureKind::InvalidOutput), "{text}");
                assert_eq!(result.structured_content(), None);
                assert!(text.contains(fault), "{text}");
                assert_eq!(text.contains(null), fault.ends_with("null"), "{text}");
            }
        }
    }
}

/// A number that the type of an argument would read as infinite is refused.
#[tokio::test]
async fn a_number_beyond_the_range_of_a_float_is_refused() {
    /// Takes floats.
    #[tool]
    fn floats(x: f32, more: Vec<f32>, wide: Option<f64>) -> String {
        format!("{x} {more:?} {wide:?}")
    }
    let toolbox = ToolBox::from(floats::tool());
    for number in ["1e39", "-1e39", "3.5e+40", "\"1e39\""] {
        let arguments = format!(r#"{{"x":1,"more":[0,{number}]}}"#);
        let result = toolbox.call(ToolCall::new("1", "floats", arguments)).await;
        let range = "`more[1]` must be a number between -3.4e38 and 3.4e38";
        assert!(result.is_error() && result.text().contains(range), "{}", result.text());
    }
    let arguments = r#"{"x":3.4e38,"more":[-3.4e38,1e-60],"wide":1e39}"#;
    assert!(!toolbox.call(ToolCall::new("1", "floats", arguments)).await.is_error());
}
