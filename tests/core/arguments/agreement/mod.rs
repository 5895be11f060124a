//! Schema and behaviour agree: what the schema admits reaches the tool, and what reaches it
//! unrepaired the schema admits.

mod dialects;
pub(crate) mod types;

use std::cell::RefCell;
use std::fmt::Write as _;

use jsonschema::Validator;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use serde_json::Value;
use toolbox::testing::Generator;
use toolbox::{Tool, ToolResult};

use support::call;

/// The answer of every tool under test, once it is reached.
const REACHED: &str = "reached";

/// Names and words that the types under test use, and a few that none does.
const NAMES: [&str; 21] = [
    "zzz",
    "a",
    "b",
    "c",
    "kind",
    "value",
    "type",
    "content",
    "Unit",
    "One",
    "Pair",
    "Fields",
    "x",
    "y",
    "name",
    "left",
    "inner_name",
    "innerName",
    "0",
    "1",
    "-1",
];

fn reached(result: &ToolResult) -> bool {
    result.text() == REACHED
}

/// Returns how schema and behaviour differ about `arguments`, if they do.
fn difference(tool: &Tool, validator: &Validator, arguments: &Value) -> Option<String> {
    let text = arguments.to_string();
    let result = call(tool, text.as_str());
    let fits = validator.is_valid(arguments);
    if fits && !reached(&result) && !has_wide_number(arguments) {
        return Some(format!("the schema admits {text}, and: {}", result.text()));
    }
    if reached(&result) && result.repairs().is_empty() && !fits {
        let errors: Vec<_> = validator.iter_errors(arguments).map(|e| e.to_string()).collect();
        return Some(format!("the tool took {text}, and: {}", errors.join("; ")));
    }
    if !reached(&result) && !result.code().is_some_and(|code| code.starts_with("args.")) {
        return Some(format!("{text} is answered by {result:?}"));
    }
    None
}

/// The documented exception: the schema spends no bounds on the width of 32-bit integers and wider,
/// nor on floats.
fn has_wide_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => number
            .as_f64()
            .is_none_or(|n| !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&n)),
        Value::Array(items) => items.iter().any(has_wide_number),
        Value::Object(fields) => fields.values().any(has_wide_number),
        _ => false,
    }
}

#[track_caller]
fn check(tools: Vec<Tool>) {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or_else(|| support::cases(100, 300));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut report = String::new();
    for tool in tools {
        let schema = &tool.definition().input_schema;
        let validator = jsonschema::draft202012::new(schema)
            .unwrap_or_else(|error| panic!("{}: {error}\n{schema}", tool.name()));
        let counts = RefCell::new((0_u32, 0_u32));
        let choices = prop::collection::vec(any::<u32>(), 0..60);
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let outcome = TestRunner::new_with_rng(config.clone(), rng).run(&choices, |choices| {
            // Never, for half of the values.
            let mutations =
                [0, 1, 1, 2, 0, 3][choices.first().map_or(0, |first| first % 6) as usize];
            let mut choices =
                Generator::from_choices(choices.into_iter().skip(1)).with_names(NAMES);
            let mut arguments = choices.instance(schema);
            for _ in 0..mutations {
                choices.mutate(&mut arguments);
            }
            let mut counts = counts.borrow_mut();
            if validator.is_valid(&arguments) {
                counts.0 += 1;
            } else {
                counts.1 += 1;
            }
            match difference(&tool, &validator, &arguments) {
                None => Ok(()),
                Some(difference) => Err(TestCaseError::fail(difference)),
            }
        });
        if let Err(TestError::Fail(reason, _)) = outcome {
            let _ = writeln!(report, "{}: {}\n    under {schema}", tool.name(), reason.message());
        }
        let (valid, invalid) = *counts.borrow();
        if report.is_empty() && valid < cases / 8
            || invalid < cases / 10 && tool.name() != "nothing"
        {
            let _ = writeln!(report, "{}: {valid} valid, {invalid} invalid values", tool.name());
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

macro_rules! groups {
    ($($test:ident: $group:ident),* $(,)?) => {$(
        #[test]
        fn $test() {
            check(types::$group());
        }
    )*};
}

groups! {
    numbers_agree: numbers,
    texts_agree: texts,
    options_agree: options,
    containers_agree: containers,
    structs_agree: structs,
    enums_agree: choices,
    flattened_structs_agree: flattened,
    whole_objects_agree: whole_objects,
    restrictions_agree: attributes,
}
