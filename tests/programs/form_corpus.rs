//! Prints the tools that the forms of the page are tested with, one JSON object a line.
//!
//! Each has its schema, arguments that the gate takes unrepaired, and arguments that it refuses,
//! with the faults as the gate words them. The tools are those of the agreement tests, and those in
//! the lists of MCP tools whose files are the program's arguments. The seeds are fixed.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};
use toolbox::call::{Arguments, ArgumentsError};
use toolbox::testing::Generator;
use toolbox::{Tool, ToolBox, ToolCall, ToolResult};

#[allow(clippy::pedantic, clippy::too_many_arguments, reason = "shared with a test")]
#[path = "../core/arguments/agreement/types.rs"]
mod types;

/// The answer of every tool, once it is reached.
const REACHED: &str = "reached";

/// Valid arguments for each tool, and as many refused ones at most.
const VALID: usize = 50;
const REFUSED: usize = 16;
/// The most refused arguments of a tool with the same kinds of fault.
const ALIKE: usize = 3;
const TRIES: u64 = 4000;

/// Names that the types of the agreement tests use, and a few that none does.
const NAMES: [&str; 16] = [
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
    "Fields",
    "x",
    "y",
    "name",
    "a b",
    "__proto__",
];

/// Numbers that a double cannot hold, or writes in another way.
const WIDE: [&str; 8] = [
    "9007199254740993",
    "-9223372036854775807",
    "18446744073709551615",
    "1.0",
    "1e2",
    "-0",
    "0.1000000000000000055511151231257827",
    "3.14159265358979323846264338327950288",
];

pub(crate) fn main() {
    let mut tools: Vec<(String, Tool)> = agreement();
    for path in std::env::args().skip(1) {
        tools.extend(listed(&path));
    }
    for (at, (source, tool)) in tools.iter().enumerate() {
        println!("{}", described(source, tool, at as u64));
    }
}

fn agreement() -> Vec<(String, Tool)> {
    let groups = [
        types::numbers,
        types::texts,
        types::options,
        types::containers,
        types::structs,
        types::choices,
        types::flattened,
        types::whole_objects,
        types::attributes,
    ];
    let tools = groups.iter().flat_map(|group| group());
    tools.map(|tool| ("agreement".to_owned(), tool)).collect()
}

/// Returns the tools of one list, as `tools/list` answers it.
fn listed(path: &str) -> Vec<(String, Tool)> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let list: Value = serde_json::from_str(&text).unwrap();
    let source = std::path::Path::new(path).file_stem().unwrap().to_string_lossy().into_owned();
    let tools = list["tools"].as_array().expect("a list of tools").iter();
    tools
        .map(|tool| {
            let schema = tool["inputSchema"].clone();
            let name = tool["name"].as_str().unwrap();
            (source.clone(), Tool::raw(name, "Foreign.", schema, |_: Arguments| REACHED))
        })
        .collect()
}

fn described(source: &str, tool: &Tool, number: u64) -> Value {
    let schema: &Value = &tool.definition().input_schema;
    let toolbox = ToolBox::from(tool.clone());
    let mut valid: Vec<String> = Vec::new();
    let mut refused: Vec<(String, Value)> = Vec::new();
    for attempt in 0..TRIES {
        if valid.len() >= VALID && (refused.len() >= REFUSED || attempt > TRIES / 4) {
            break;
        }
        let mut choices = Generator::seeded(number << 20 | attempt).with_names(NAMES);
        let mut value = choices.instance(schema);
        for _ in 0..[0, 0, 1, 1, 2][usize::try_from(attempt % 5).unwrap()] {
            choices.mutate(&mut value);
        }
        let mut text = value.to_string();
        if attempt % 3 == 1 {
            text = widened(&text, attempt);
        }
        let result = call(&toolbox, tool.name(), &text);
        if result.text() == REACHED && result.repairs().is_empty() {
            if valid.len() < VALID {
                valid.push(text);
            }
        } else if let Some(faults) = faults(&result)
            && refused.len() < REFUSED
            && refused.iter().filter(|(_, other)| kinds(other) == kinds(&faults)).count() < ALIKE
        {
            refused.push((text, faults));
        }
    }
    let refused: Vec<_> = refused
        .into_iter()
        .map(|(text, faults)| json!({"arguments": text, "faults": faults}))
        .collect();
    json!({
        "source": source,
        "name": tool.name(),
        "schema": schema,
        "valid": valid,
        "refused": refused,
    })
}

fn kinds(faults: &Value) -> Vec<String> {
    faults.as_array().into_iter().flatten().map(|fault| fault["code"].to_string()).collect()
}

/// Calls a tool that never waits.
fn call(toolbox: &ToolBox, name: &str, arguments: &str) -> ToolResult {
    let mut call = pin!(toolbox.call(ToolCall::new("c", name, arguments)));
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("{name} waits for something"),
    }
}

/// Returns the faults of a refused call; none, if it has others than those of arguments.
fn faults(result: &ToolResult) -> Option<Value> {
    let error = result.source()?.downcast_ref::<ArgumentsError>()?;
    let faults = error.faults().iter().map(
        |fault| json!({"path": fault.path, "code": fault.code(), "message": fault.to_string()}),
    );
    Some(faults.collect())
}

/// Returns the text with one number replaced by one that a double cannot hold.
fn widened(text: &str, seed: u64) -> String {
    let mut numbers = Vec::new();
    let (mut within, mut escaped, mut start) = (false, false, None);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if within => escaped = true,
            '"' => within = !within,
            '-' | '+' | '.' | 'e' | '0'..='9' if !within => {
                // The `e` of `true` starts no number.
                if start.is_none() && c != 'e' {
                    start = Some(at);
                }
                continue;
            }
            _ => {}
        }
        if let Some(from) = start.take() {
            numbers.push(from..at);
        }
    }
    let seed = usize::try_from(seed).unwrap();
    let Some(range) = numbers.get(seed / 3 % numbers.len().max(1)) else { return text.to_owned() };
    let wide = WIDE[seed / 7 % WIDE.len()];
    format!("{}{wide}{}", &text[..range.start], &text[range.end..])
}
