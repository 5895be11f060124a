//! What is expected of calls and answers.

use serde_json::{Value, json};
use toolbox_eval::{ArgumentMatcher, Eval, FaultKind};

use crate::bounded::tokio;
use crate::{calling, report, suite, toolbox};

#[test]
fn an_argument_meets_its_matcher() {
    let none = || None::<Value>;
    for (matcher, argument, expected) in [
        (json!("Oslo"), Some(json!("Oslo")), true),
        (json!("Oslo"), Some(json!("oslo")), false),
        (json!("Oslo"), none(), false),
        (json!(9_007_199_254_740_993_u64), Some(json!(9_007_199_254_740_992_u64)), false),
        (json!(9_007_199_254_740_993_u64), Some(json!(9_007_199_254_740_993_u64)), true),
        (json!(-1), Some(json!(u64::MAX)), false),
        (json!(1), Some(json!(1.0)), true),
        (json!(1), Some(json!("1")), false),
        (json!([1, 2]), Some(json!([1.0, 2])), true),
        (json!([1, 2]), Some(json!([2, 1])), false),
        (json!(null), Some(json!(null)), true),
        (json!(null), none(), false),
        (json!({"equal": {"a": 1, "b": 2}}), Some(json!({"b": 2.0, "a": 1})), true),
        (json!({"equal": {"a": 1}}), Some(json!({"a": 1, "b": 2})), false),
        (json!({"contains": "osl"}), Some(json!("OSLO")), true),
        (json!({"contains": "osl"}), Some(json!(["Rome", "Oslo"])), true),
        (json!({"contains": "osl"}), Some(json!({"city": "Oslo"})), false),
        (json!({"contains": ""}), none(), false),
        (json!({"regex": "^[A-Z]{3}$"}), Some(json!("OSL")), true),
        (json!({"regex": "^[A-Z]{3}$"}), Some(json!("OSLO")), false),
        (json!({"regex": "1"}), Some(json!(1)), false),
        (json!({"range": [1, 3]}), Some(json!(3)), true),
        (json!({"range": [1, 3]}), Some(json!(3.5)), false),
        (json!({"range": [null, 3]}), Some(json!(-1e300)), true),
        (json!({"range": [1, null]}), Some(json!("2")), false),
        (json!({"any": true}), Some(json!(false)), true),
        (json!({"any": true}), Some(json!(null)), false),
        (json!({"any": true}), none(), false),
        (json!({"absent": true}), none(), true),
        (json!({"absent": true}), Some(json!(null)), true),
        (json!({"absent": true}), Some(json!("")), false),
    ] {
        let read: ArgumentMatcher = serde_json::from_value(matcher.clone()).unwrap();
        assert_eq!(read.matches(argument.as_ref()), expected, "{matcher} of {argument:?}");
    }
}

/// Runs one case whose model makes `made` calls, and returns the kinds of its faults.
async fn faults(case: Value, made: &[(&str, Value)], answer: &str) -> Vec<FaultKind> {
    let mut case = case;
    case["request"] = "go".into();
    let suite = suite(json!({"name": "x", "cases": [case]}));
    let eval = Eval::new(suite, calling(made, answer)).toolbox(toolbox(&["a", "b", "c"]));
    let report = report(eval).await;
    let mut faults: Vec<_> = report.cases[0].runs[0].faults.iter().map(|own| own.kind).collect();
    faults.sort();
    faults
}

#[tokio::test]
async fn calls_are_compared_by_name_arguments_and_order() {
    use FaultKind::{MissingCall, RefusedCall, UnexpectedCall, WrongArguments, WrongOrder};
    let of = |names: &[&str]| -> Value { names.iter().map(|name| json!({"name": name})).collect() };
    let call = |name: &'static str| (name, json!({}));
    let sent = |name: &'static str, x: i32| (name, json!({"x": x}));
    for (case, made, expected) in [
        (json!({"calls": of(&["a", "b"])}), vec![call("b"), call("c"), call("a")], vec![]),
        (json!({"calls": of(&["a", "b"])}), vec![call("c"), call("a")], vec![MissingCall]),
        (json!({"calls": of(&["a", "a"])}), vec![call("a")], vec![WrongOrder]),
        (
            json!({"calls": of(&["a", "b"]), "order": "in order"}),
            vec![call("a"), call("c"), call("b")],
            vec![],
        ),
        (
            json!({"calls": of(&["a", "b"]), "order": "in order"}),
            vec![call("b"), call("a")],
            vec![WrongOrder],
        ),
        (json!({"calls": of(&["a", "b"]), "order": "exact"}), vec![call("a"), call("b")], vec![]),
        (
            json!({"calls": of(&["a", "b"]), "order": "exact"}),
            vec![call("a"), call("b"), call("c")],
            vec![UnexpectedCall],
        ),
        (json!({"calls": of(&["a"]), "order": "exact"}), vec![], vec![MissingCall]),
        (json!({"no_calls": true}), vec![], vec![]),
        (json!({"no_calls": true}), vec![call("a")], vec![UnexpectedCall]),
        // The first expected call takes either; the second only one of them.
        (
            json!({"calls": [{"name": "a"}, {"name": "a", "arguments": {"x": 1}}]}),
            vec![sent("a", 1), sent("a", 2)],
            vec![],
        ),
        (
            json!({"calls": [{"name": "a", "arguments": {"x": 1}}]}),
            vec![sent("a", 2)],
            vec![WrongArguments],
        ),
        (json!({"calls": [{"name": "d"}]}), vec![call("d")], vec![RefusedCall]),
    ] {
        assert_eq!(faults(case.clone(), &made, "done").await, expected, "{case} {made:?}");
    }
}

#[tokio::test]
async fn an_answer_is_compared_by_its_parts() {
    use FaultKind::{Stopped, WrongAnswer};
    for (answer, said, expected) in [
        (json!({"contains": "rain"}), "It will RAIN.", vec![]),
        (json!({"contains": ["rain", "Oslo"]}), "Rain in Rome.", vec![WrongAnswer]),
        (json!({"contains": ["rain", "Oslo"]}), "Sun.", vec![WrongAnswer, WrongAnswer]),
        (json!({"regex": r"^\d+ °C$"}), "12 °C", vec![]),
        (json!({"regex": r"^\d+ °C$"}), "about 12 °C", vec![WrongAnswer]),
        (json!({"contains": ""}), "", vec![Stopped]),
    ] {
        assert_eq!(faults(json!({"answer": answer}), &[], said).await, expected, "{answer} {said}");
    }
}

#[tokio::test]
async fn a_call_through_a_gateway_is_that_of_its_tool() {
    let expected = json!({"name": "a", "arguments": {"x": 1}});
    let suite = suite(json!({
        "name": "x", "gateway": true,
        "tools": [{"name": "a", "description": "Does a"}, {"name": "b", "description": "Does b"}],
        "cases": [{"request": "go", "calls": [expected], "order": "exact"}],
    }));
    for arguments in [json!({"x": 1}), json!("{\"x\": 1}")] {
        let model = calling(
            &[
                ("toolbox_search_bm25", json!({"text": "does"})),
                ("toolbox_execute", json!({"name": "a", "arguments": arguments})),
            ],
            "done",
        );
        let requests = model.clone();
        let report = report(Eval::new(suite.clone(), model)).await;
        report.assert_passes(1.0);
        let offered =
            requests.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
        assert!(offered.iter().all(|name| name.starts_with("toolbox_")), "{offered:?}");
    }
}
