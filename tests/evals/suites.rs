//! Files of suites, and their errors.

use support::Scratch;
use toolbox_eval::{Order, Suite};

#[test]
fn a_suite_is_read_from_yaml_and_json() {
    let yaml = r"
name: weather
model: openai:gpt-5
judge: openai:gpt-5
system: Be brief.
runs: 5
pass_at: 0.9
time_limit: 30
gateway: true
tools:
  - {name: get_weather, description: Returns the weather, result: {sky: rain}}
cases:
  - request: What is the weather in Oslo?
    order: in order
    calls:
      - name: get_weather
        arguments: {city: Oslo, days: {range: [1, null]}, unit: {absent: true}}
    answer: {contains: [rain, Oslo], regex: '(?i)rain', judge: It names the city.}
  - {name: thanks, request: Thank you!, no_calls: true}
";
    let suite = Suite::parse(yaml).unwrap();
    assert_eq!((suite.runs, suite.time_limit, suite.gateway), (5, 30, true));
    assert_eq!(suite.cases[0].name, "What is the weather in Oslo?");
    assert_eq!(suite.cases[0].order, Order::InOrder);
    assert_eq!(suite.toolbox().unwrap().names(), ["get_weather"]);
    let json = r#"{"name": "a", "cases": [{"request": "b", "no_calls": true}]}"#;
    let suite = Suite::parse(json).unwrap();
    assert_eq!((suite.runs, suite.time_limit), (1, 60));
    assert!((suite.pass_at - 1.0).abs() < f64::EPSILON);
}

#[test]
fn a_fault_in_a_suite_is_reported_with_its_line() {
    let case = "cases: [{request: a, no_calls: true}]";
    for (text, expected) in [
        (format!("name: x\nrnus: 3\n{case}\n"), vec!["rnus", "line 2"]),
        ("name: x\ncases:\n  - request: a\n    call: []\n".into(), vec!["call", "line 4"]),
        ("{\"name\": \"x\",\n \"cases\": [{\"request\": \"a\",\n \"no_call\": true}]}".into(), vec!["no_call", "line 3"]),
        (format!("name: x\nruns: many\n{case}\n"), vec!["line 2"]),
        (
            "name: x\ncases:\n  - request: a\n    calls:\n      - name: b\n        arguments: {c: {regex: '('}}\n".into(),
            vec!["`(` is no regular expression", "line 6"],
        ),
        (
            "name: x\ncases:\n  - request: a\n    calls:\n      - name: b\n        arguments: {c: {like: d}}\n".into(),
            vec!["there is no matcher `like`: write `equal`, `contains`", "line 6"],
        ),
        (
            "name: x\ncases: [{request: a, calls: [{name: b, arguments: {c: {any: true, absent: true}}}]}]".into(),
            vec!["a matcher has one key"],
        ),
        (
            "name: x\ncases: [{request: a, calls: [{name: b, arguments: {c: {range: [2, 1]}}}]}]".into(),
            vec!["no number is in the range [2,1]"],
        ),
        ("name: x\ncases: [{request: a, calls: [{name: b}], order: sorted}]".into(), vec!["sorted", "any order"]),
        ("name: x\ncases: []".into(), vec!["the suite has no case"]),
        (format!("name: x\nruns: 0\n{case}"), vec!["`runs` is 0, not from 1 to 100"]),
        (format!("name: x\npass_at: 90\n{case}"), vec!["`pass_at` is 90, not from 0 to 1"]),
        (format!("name: x\npass_at: .nan\n{case}"), vec!["`pass_at` is NaN"]),
        (format!("name: x\ntime_limit: 0\n{case}"), vec!["`time_limit` is 0 seconds"]),
        ("name: x\ncases: [{request: a}]".into(), vec!["the case \"a\" expects nothing"]),
        ("name: x\ncases: [{request: a, answer: {}}]".into(), vec!["expects nothing"]),
        (
            "name: x\ncases: [{request: a, no_calls: true, calls: [{name: b}]}]".into(),
            vec!["both `calls` and `no_calls`"],
        ),
        (
            "name: x\ncases: [{request: a, no_calls: true}, {request: a, no_calls: true}]".into(),
            vec!["two cases have the name \"a\""],
        ),
        (
            format!("name: x\ntools: [{{name: 'a b', description: c}}]\n{case}"),
            vec!["a b"],
        ),
        (
            format!("name: x\ntools: [{{name: a, description: c}}, {{name: a, description: d}}]\n{case}"),
            vec!["`a`"],
        ),
        (String::new(), vec!["end of input"]),
        ("[".repeat(10_000), vec![""]),
        (
            format!(r#"{{"tools": [{{"input_schema": {}"#, "[".repeat(10_000)),
            vec!["recursion limit"],
        ),
        ("a: &a [x, x]\nb: &b [*a, *a]\n".into(), vec!["line 1"]),
    ] {
        let error = Suite::parse(&text).unwrap_err().to_string();
        for part in expected {
            assert!(error.contains(part), "{part:?} in {error:?} of {text:.200}");
        }
        assert!(error.lines().count() <= 1, "{error}");
    }
}

#[test]
fn an_error_in_a_file_names_the_file() {
    let scratch = Scratch::new();
    let path = scratch.path().join("a.yaml");
    let error = Suite::read(&path).unwrap_err().to_string();
    assert!(error.contains("a.yaml: cannot be read"), "{error}");
    std::fs::write(&path, "name: x\nnames: y\n").unwrap();
    let error = Suite::read(&path).unwrap_err().to_string();
    assert!(error.contains("a.yaml: ") && error.contains("line 2"), "{error}");
}
