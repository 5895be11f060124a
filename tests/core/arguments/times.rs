//! Durations and points in time, as models write them.

#![allow(dead_code, reason = "only what is told of them is read")]

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolbox::{Tool, ToolBox, ToolCall, tool};

use support::now;

/// Waits.
#[tool]
fn wait(time: Duration) -> String {
    format!("{time:?}")
}

/// Tells a time.
#[tool]
fn tell(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).expect("not before 1970");
    format!("{}.{:09}", since.as_secs(), since.subsec_nanos())
}

fn answer(tool: Tool, arguments: &Value) -> String {
    let toolbox = ToolBox::from(tool);
    let name = toolbox.names().remove(0);
    now(toolbox.call(ToolCall::new("1", name, arguments.to_string()))).text().into_owned()
}

#[test]
fn durations_are_read_as_models_write_them() {
    for (written, read) in [
        (json!("PT5S"), "5s"),
        (json!("PT1H30M"), "5400s"),
        (json!("P1DT2H"), "93600s"),
        (json!("P2W"), "1209600s"),
        (json!("pt0.5s"), "500ms"),
        (json!("5s"), "5s"),
        (json!("1h30m"), "5400s"),
        (json!("1h 30m"), "5400s"),
        (json!("1 hour, 30 minutes"), "5400s"),
        (json!("1.5h"), "5400s"),
        (json!("250ms"), "250ms"),
        (json!("10 Min"), "600s"),
        (json!("90"), "90s"),
        (json!(90), "90s"),
        (json!(0), "0ns"),
        (json!(0.25), "250ms"),
        (json!(1.5), "1.5s"),
    ] {
        assert_eq!(answer(wait::tool(), &json!({"time": written})), read, "{written}");
    }
}

#[test]
fn what_is_no_duration_is_refused() {
    for written in [
        json!("a while"),
        json!(""),
        json!("P"),
        json!("PT"),
        json!("P1M"),
        json!("P1Y"),
        json!("1 month"),
        json!("5"), // a control: this one is read
        json!("-5s"),
        json!(-5),
        json!("5 5"),
        json!("s5"),
        json!("1e3s"),
        json!("99999999999999999999999h"),
        json!("NaN"),
        json!(true),
        json!([5]),
        json!(null),
    ] {
        let text = answer(wait::tool(), &json!({"time": written}));
        if written == "5" {
            assert_eq!(text, "5s");
        } else {
            assert!(text.contains("`time` must be"), "{written}: {text}");
        }
    }
    let text = answer(wait::tool(), &json!({"time": "a while"}));
    assert!(text.contains("a duration such as `PT1H`"), "{text}");
}

#[test]
fn points_in_time_are_read_with_their_offset() {
    for (written, read) in [
        (json!("1970-01-01T00:00:00Z"), "0.000000000"),
        (json!("2026-01-31T12:00:00Z"), "1769860800.000000000"),
        (json!("2026-01-31T13:00:00+01:00"), "1769860800.000000000"),
        (json!("2026-01-31t06:30:00.25-05:30"), "1769860800.250000000"),
        (json!("2024-02-29 23:59:59Z"), "1709251199.000000000"),
        (json!("2000-03-01T00:00:00Z"), "951868800.000000000"),
        (json!(1_769_860_800), "1769860800.000000000"),
        (json!("1769860800.5"), "1769860800.500000000"),
    ] {
        assert_eq!(answer(tell::tool(), &json!({"at": written})), read, "{written}");
    }
    for written in [
        json!("2026-01-31T12:00:00"),
        json!("2026-01-31"),
        json!("12:00:00Z"),
        json!("2026-02-29T00:00:00Z"),
        json!("2026-13-01T00:00:00Z"),
        json!("2026-01-31T24:00:00Z"),
        json!("2026-01-31T12:00:00+1"),
        json!("2026-01-31T12:00:00+25:00"),
        json!("1969-12-31T23:59:59Z"),
        json!("1970-01-01T00:00:00+00:01"),
        json!("yesterday"),
        json!("2026-1-31T12:00:00Z"),
        json!("2026-01-31T12:00:00é"),
        json!(-1),
    ] {
        let text = answer(tell::tool(), &json!({"at": written}));
        assert!(text.contains("`at` must be"), "{written}: {text}");
    }
}

#[derive(Deserialize, Serialize, JsonSchema, Debug)]
struct Plan {
    every: Duration,
    pauses: Option<Vec<Duration>>,
    by_name: Option<HashMap<String, Duration>>,
}

#[derive(Deserialize, JsonSchema, Debug)]
enum Step {
    Wait(Duration),
    At { time: SystemTime },
    Go,
}

/// Plans.
#[tool(example(plan = Plan { every: Duration::from_secs(90), pauses: None, by_name: None }))]
fn plan(plan: Plan) -> String {
    format!("{plan:?}")
}

/// Steps.
#[tool]
fn step(step: Step) -> String {
    format!("{step:?}")
}

/// Plans at once.
#[tool]
fn flat(#[arg(flatten)] plan: Plan) -> String {
    format!("{plan:?}")
}

/// Waits, if nothing else is said.
#[tool]
fn with_default(
    #[arg(default = Duration::from_millis(1500), examples(Duration::from_secs(3600)))]
    time: Duration,
) -> String {
    format!("{time:?}")
}

#[test]
fn times_are_text_wherever_they_stand() {
    let whole = Tool::from_fn("whole", "Plans.", |plan: Plan| format!("{plan:?}"));
    for (tool, arguments, part) in [
        (
            plan::tool(),
            json!({"plan": {"every": "5m", "pauses": ["1s", 2]}}),
            "pauses: Some([1s, 2s])",
        ),
        (plan::tool(), json!({"plan": {"every": 1, "by_name": {"a": "1h"}}}), "{\"a\": 3600s}"),
        (step::tool(), json!({"step": {"Wait": "PT1M"}}), "Wait(60s)"),
        (step::tool(), json!({"step": {"At": {"time": "1970-01-01T00:00:01Z"}}}), "At"),
        (step::tool(), json!({"step": "Go"}), "Go"),
        (flat::tool(), json!({"every": "5s", "pauses": ["1s"]}), "every: 5s, pauses: Some([1s])"),
        (whole, json!({"every": "5s"}), "every: 5s"),
        (with_default::tool(), json!({}), "1.5s"),
    ] {
        let schema = tool.definition().input_schema.to_string();
        assert!(!schema.contains("nanos"), "{schema}");
        let text = answer(tool, &arguments);
        assert!(text.contains(part), "{arguments}: {text}");
    }
    let time = |tool: Tool| tool.definition().input_schema["properties"]["time"].clone();
    assert_eq!(time(wait::tool()), json!({"type": "string", "format": "duration"}));
    assert_eq!(
        time(with_default::tool()),
        json!({"type": "string", "format": "duration", "default": "PT1.5S", "examples": ["PT1H"]})
    );
    assert_eq!(plan::tool().definition().examples[0]["plan"]["every"], "PT1M30S");
}

#[derive(Deserialize, JsonSchema, Debug)]
#[serde(untagged)]
enum Untagged {
    Time(Duration),
    Count { count: u32 },
}

#[derive(Deserialize, JsonSchema, Debug)]
struct Outer {
    #[serde(flatten)]
    inner: Inner,
}

#[derive(Deserialize, JsonSchema, Debug)]
struct Inner {
    time: Duration,
}

/// Takes one of two.
#[tool]
fn untagged(value: Untagged) -> String {
    format!("{value:?}")
}

/// Takes a struct that is flattened into another.
#[tool]
fn nested(value: Outer) -> String {
    format!("{value:?}")
}

#[test]
fn what_serde_holds_back_stays_an_object_of_numbers() {
    let time = json!({"secs": 5, "nanos": 0});
    for (tool, value, read) in [
        (untagged::tool(), time.clone(), "Time(5s)"),
        (untagged::tool(), json!({"count": 5}), "Count { count: 5 }"),
        (nested::tool(), json!({"time": time}), "time: 5s"),
    ] {
        assert!(tool.definition().input_schema.to_string().contains("nanos"));
        let text = answer(tool, &json!({"value": value}));
        assert!(text.contains(read), "{value}: {text}");
    }
}

#[test]
fn what_a_program_writes_by_serde_is_read_as_well() {
    let plan = Plan {
        every: Duration::new(5, 250_000_000),
        pauses: Some(vec![Duration::from_secs(60)]),
        // A map makes the reader check the whole value by its schema too.
        by_name: Some(HashMap::from([("a".to_owned(), Duration::from_secs(1))])),
    };
    let time = UNIX_EPOCH + Duration::from_secs(7);
    let half = json!({"secs": 5});
    let big = json!({"secs": 5, "nanos": 5_000_000_000_u64});
    for (tool, arguments, part) in [
        (wait::tool(), json!({"time": Duration::from_millis(1500)}), "1.5s"),
        (tell::tool(), json!({"at": time}), "7.000000000"),
        (step::tool(), json!({"step": {"At": {"time": time}}}), "At"),
        (step::tool(), json!({"step": {"Wait": Duration::from_secs(3)}}), "Wait(3s)"),
        (step::tool(), json!({"step": {"Wait": 3}}), "Wait(3s)"),
        (plan::tool(), json!({"plan": {"every": 1, "by_name": {"a": 2}}}), "{\"a\": 2s}"),
        (plan::tool(), json!({"plan": &plan}), "every: 5.25s, pauses: Some([60s])"),
        (flat::tool(), json!(&plan), "every: 5.25s, pauses: Some([60s])"),
        (wait::tool(), json!({"time": half}), "`time` must be"),
        (wait::tool(), json!({"time": big}), "`time` must be"),
        (wait::tool(), json!({"time": {"secs": 5, "nanos": 0, "more": 1}}), "`time` must be"),
    ] {
        let text = answer(tool.clone(), &arguments);
        assert!(text.contains(part), "{arguments}: {text}");
        let call = ToolCall::new("1", tool.name(), arguments.to_string());
        let is_read = ToolBox::from(tool.clone()).check(&call).is_ok();
        assert_eq!(is_read, !part.contains("must be"), "{arguments}");
    }
}
