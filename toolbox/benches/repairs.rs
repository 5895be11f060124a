//! What a call with faults or repairs costs, as a multiple of the right call of the same size.
//!
//! ```sh
//! cargo bench -p llm-toolbox --bench repairs           # 100 000 items
//! cargo bench -p llm-toolbox --bench repairs -- 10000 quotes  # another size, cases with a word
//! ```

#![allow(clippy::pedantic, clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolbox::call::Arguments;
use toolbox::{Tool, ToolBox, ToolCall, tool, tools};

/// An entry of a list.
#[derive(Deserialize, JsonSchema)]
struct Entry {
    name: String,
    count: u32,
}

/// Adds numbers.
#[tool]
fn add(numbers: Vec<i64>) -> i64 {
    numbers.iter().sum()
}

/// Counts entries.
#[tool]
fn count(entries: Vec<Entry>) -> usize {
    entries.iter().map(|entry| entry.name.len() + entry.count as usize).sum()
}

/// Keeps settings.
#[tool]
fn keep(settings: std::collections::BTreeMap<String, bool>) -> usize {
    settings.len()
}

/// A tool of as many arguments as a twentieth of the items, each a number.
fn wide(size: usize) -> Tool {
    let declared: Map<String, Value> =
        (0..size / 20).map(|at| (format!("setting_{at}"), json!({"type": "integer"}))).collect();
    let schema = json!({"type": "object", "properties": declared, "additionalProperties": false});
    Tool::raw("wide", "Takes numbers.", schema, |arguments: Arguments| arguments.as_str().len())
}

fn wide_arguments(size: usize) -> String {
    format!("{{{}}}", list(size / 20, |at| format!(r#""setting_{at}":{at}"#)))
}

type Case = (&'static str, &'static str, fn(usize) -> String, fn(usize) -> String, f64);

fn list(size: usize, item: impl Fn(usize) -> String) -> String {
    (0..size).map(item).collect::<Vec<_>>().join(",")
}

fn numbers(size: usize) -> String {
    format!(r#"{{"numbers":[{}]}}"#, list(size, |at| at.to_string()))
}

fn entries(size: usize) -> String {
    format!(r#"{{"entries":[{}]}}"#, list(size, |at| format!(r#"{{"name":"n{at}","count":{at}}}"#)))
}

fn settings(size: usize) -> String {
    format!(r#"{{"settings":{{{}}}}}"#, list(size, |at| format!(r#""s{at}":true"#)))
}

/// A tool, what is wrong with its arguments, these right and wrong, and the multiple that is the
/// goal.
const CASES: &[Case] = &[
    (
        "add",
        "numbers in quotes",
        numbers,
        |size| format!(r#"{{"numbers":[{}]}}"#, list(size, |at| format!("\"{at}\""))),
        10.0,
    ),
    (
        "add",
        "numbers with a fraction of zero",
        numbers,
        |size| format!(r#"{{"numbers":[{}]}}"#, list(size, |at| format!("{at}.0"))),
        10.0,
    ),
    (
        "add",
        "the list in quotes",
        numbers,
        |size| format!(r#"{{"numbers":"[{}]"}}"#, list(size, |at| at.to_string())),
        10.0,
    ),
    ("add", "the arguments in quotes", numbers, |size| format!("{:?}", numbers(size)), 10.0),
    (
        "add",
        "words in place of numbers",
        numbers,
        |size| format!(r#"{{"numbers":[{}]}}"#, list(size, |at| format!("\"word {at}\""))),
        10.0,
    ),
    (
        "count",
        "each entry in quotes",
        entries,
        |size| {
            let entry = |at| format!("{:?}", format!(r#"{{"name":"n{at}","count":{at}}}"#));
            format!(r#"{{"entries":[{}]}}"#, list(size, entry))
        },
        10.0,
    ),
    (
        "count",
        "misspelt names in each entry",
        entries,
        |size| {
            let entry = |at| format!(r#"{{"nmae":"n{at}","cuont":{at}}}"#);
            format!(r#"{{"entries":[{}]}}"#, list(size, entry))
        },
        5.0,
    ),
    (
        "count",
        "misspelt names, each another, in one entry",
        entries,
        |size| format!(r#"{{"entries":[{{{}}}]}}"#, list(size, |at| format!(r#""nam{at}":1"#))),
        5.0,
    ),
    (
        "keep",
        "booleans in quotes",
        settings,
        |size| format!(r#"{{"settings":{{{}}}}}"#, list(size, |at| format!(r#""s{at}":"true""#))),
        10.0,
    ),
    (
        "keep",
        "misspelt arguments",
        settings,
        |size| format!("{{{}}}", list(size, |at| format!(r#""sett{at}":true"#))),
        5.0,
    ),
    (
        "wide",
        "each argument of thousands misspelt",
        wide_arguments,
        |size| format!("{{{}}}", list(size / 20, |at| format!(r#""settign_{at}":{at}"#))),
        5.0,
    ),
    (
        "wide",
        "each argument of thousands a word",
        wide_arguments,
        |size| format!("{{{}}}", list(size / 20, |at| format!(r#""setting_{at}":"word""#))),
        10.0,
    ),
];

fn main() -> ExitCode {
    let asked: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let size = asked.iter().find_map(|argument| argument.parse().ok()).unwrap_or(100_000);
    let is_asked = |what: &str| {
        let mut words = asked.iter().filter(|argument| argument.parse::<usize>().is_err());
        words.all(|word| what.contains(word.as_str()))
    };
    let toolbox = ToolBox::builder()
        .max_argument_bytes(64 << 20)
        .tools(tools![add, count, keep])
        .tools(wide(size))
        .build();
    let toolbox = toolbox.expect("a box");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let time = |name: &str, arguments: &str| {
        let mut times: Vec<f64> = (0..5)
            .map(|_| {
                let call = ToolCall::new("1", name, arguments);
                let begin = Instant::now();
                black_box(runtime.block_on(toolbox.call(call)));
                begin.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_unstable_by(f64::total_cmp);
        times[2]
    };
    println!(
        "{:<46}{:>10}{:>10}{:>10}{:>8}",
        "items: ".to_owned() + &size.to_string(),
        "right, ms",
        "this, ms",
        "multiple",
        "goal"
    );
    let mut missed = 0;
    for (name, what, right, wrong, goal) in CASES.iter().filter(|case| is_asked(case.1)) {
        let (right, wrong) = (time(name, &right(size)), time(name, &wrong(size)));
        let multiple = wrong / right;
        let verdict = if multiple <= *goal { "reached" } else { "missed" };
        missed += usize::from(multiple > *goal);
        println!("{what:<46}{right:>10.2}{wrong:>10.2}{multiple:>10.1}{goal:>8.0}  {verdict}");
    }
    if missed == 0 {
        return ExitCode::SUCCESS;
    }
    println!("{missed} goals are not reached");
    ExitCode::FAILURE
}
