//! The error of `ModelRequest::tokens` on whole requests, part by part, against a real tokenizer.
//!
//! ```sh
//! cargo run --release --bin requests -- KIND=TOOLS.jsonl=QUERIES.jsonl …
//! ```
//!
//! A request is made of twenty tools of a set, a request of that set, and calls of those tools with
//! valid arguments. The reference counts what the OpenAI chat format writes: 3 tokens for each
//! message and 3 for the reply, and each text of a message, as OpenAI says how its messages are
//! counted; definitions as the JSON of their list. It fails where nine of ten requests of a row are
//! not within 15 %.

use serde_json::Value;
use tiktoken_rs::CoreBPE;
use toolbox::call::Arguments;
use toolbox::model::{History, ModelRequest, Replied, Reply};
use toolbox::testing::Caller;
use toolbox::wire::{Format, OpenAiChat};
use toolbox::{Tool, ToolBox, ToolCall, ToolResult};

#[path = "../../../../toolbox/benches/corpus/made.rs"]
#[allow(dead_code)]
mod made;

/// The tools of a request.
const TOOLS: usize = 20;
/// The requests of a row.
const REQUESTS: usize = 40;
/// In percent.
const MAX_ERROR: f64 = 15.0;
const SYSTEM: &str = "You are a careful assistant. Do what the user asks for with the tools you have, and say what \
    you did. Ask before you change anything that cannot be changed back.";

/// The tokens of the parts of a request.
#[derive(Default, Clone, Copy)]
struct Parts {
    system: usize,
    definitions: usize,
    messages: usize,
}

impl Parts {
    fn total(self) -> usize {
        self.system + self.definitions + self.messages
    }

    fn estimated(request: &ModelRequest) -> Self {
        let tokens = request.tokens();
        Self {
            system: tokens.system,
            definitions: tokens.definitions.iter().map(|tool| tool.tokens).sum(),
            messages: tokens.messages.iter().map(|message| message.total()).sum(),
        }
    }

    fn real(request: &ModelRequest, tokenizer: &CoreBPE) -> Self {
        let count = |text: &str| tokenizer.encode_ordinary(text).len();
        let body: Value =
            serde_json::from_str(&OpenAiChat::body(request, "gpt-5", false)).expect("JSON");
        let mut parts = Self { messages: 3, ..Self::default() };
        if let Some(tools) = body.get("tools") {
            parts.definitions = count(&tools.to_string());
        }
        for message in body["messages"].as_array().expect("a list") {
            let tokens = 3 + texts(message, &count);
            match message["role"].as_str() {
                Some("system" | "developer") => parts.system += tokens,
                _ => parts.messages += tokens,
            }
        }
        parts
    }
}

/// Counts the texts of a message, but for ids, which no model reads.
fn texts(value: &Value, count: &impl Fn(&str) -> usize) -> usize {
    match value {
        Value::String(text) => count(text),
        Value::Array(items) => items.iter().map(|item| texts(item, count)).sum(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| !matches!(key.as_str(), "id" | "tool_call_id" | "type"))
            .map(|(_, value)| texts(value, count))
            .sum(),
        _ => 0,
    }
}

/// A set of tools and of what users ask for.
struct Catalog {
    kind: String,
    tools: Vec<Tool>,
    queries: Vec<String>,
}

impl Catalog {
    fn read(kind: &str, tools: &str, queries: &str) -> Self {
        let lines = |path: &str| -> Vec<Value> {
            let text = std::fs::read_to_string(path).expect(path);
            text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
        };
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let tools = lines(tools).into_iter().filter_map(|tool| {
            Tool::try_raw(
                text(&tool, "name"),
                text(&tool, "description"),
                tool["input_schema"].clone(),
                |_: Arguments| (),
            )
            .ok()
        });
        Self {
            kind: kind.to_owned(),
            tools: tools.collect(),
            queries: lines(queries).iter().map(|query| text(query, "query")).collect(),
        }
    }

    /// Returns the request number `at`, after so many steps.
    fn request(&self, at: usize, steps: usize, results: &[String]) -> ModelRequest {
        let from = at * TOOLS % (self.tools.len() - TOOLS);
        let tools = &self.tools[from..from + TOOLS];
        let mut caller = Caller::new(at as u64 + 1);
        let mut history = History::from(self.queries[at % self.queries.len()].as_str());
        for step in 0..steps {
            let tool = &tools[step * 7 % TOOLS];
            let Some(arguments) = caller.valid(tool) else { continue };
            let call = ToolCall::new(format!("call_{step}"), tool.name(), arguments.as_str());
            let Replied::Calls(open) = history.reply(Reply::calls([call])) else {
                unreachable!("a call")
            };
            history =
                open.answer([ToolResult::new(results[(at * 8 + step) % results.len()].as_str())]);
        }
        let toolbox = ToolBox::new();
        for tool in tools {
            toolbox.register(tool.clone());
        }
        ModelRequest::new(history).with_system(SYSTEM).with_tools(toolbox.definitions())
    }
}

/// Prints a row, and returns `true` if nine of ten requests are within the error that the docs of
/// `ModelRequest::tokens` name.
fn row(name: &str, requests: &[ModelRequest], tokenizer: &CoreBPE) -> bool {
    let (mut estimated, mut real) = (Parts::default(), Parts::default());
    let mut errors = Vec::new();
    for request in requests {
        let (one, other) = (Parts::estimated(request), Parts::real(request, tokenizer));
        for (sum, part) in [(&mut estimated, one), (&mut real, other)] {
            sum.system += part.system;
            sum.definitions += part.definitions;
            sum.messages += part.messages;
        }
        errors.push(100.0 * (one.total() as f64 / other.total() as f64 - 1.0).abs());
    }
    errors.sort_unstable_by(f64::total_cmp);
    let signed = |of: fn(&Parts) -> usize| match of(&real) {
        0 => "–".to_owned(),
        count => format!("{:+.0} %", 100.0 * (of(&estimated) as f64 / count as f64 - 1.0)),
    };
    println!(
        "| {name} | {} | {} | {} | {} | {:.0} % | {:.0} % |",
        real.total() / requests.len(),
        signed(|parts| parts.definitions),
        signed(|parts| parts.messages),
        signed(|parts| parts.total()),
        errors[errors.len() / 2],
        errors[errors.len() * 9 / 10],
    );
    errors[errors.len() * 9 / 10].round() <= MAX_ERROR
}

fn main() -> std::process::ExitCode {
    let mut holds = true;
    let tokenizer = tiktoken_rs::o200k_base().expect("its tables");
    let catalogs: Vec<Catalog> = std::env::args()
        .skip(1)
        .map(|argument| {
            let mut parts = argument.splitn(3, '=');
            let mut part = || parts.next().expect("KIND=TOOLS.jsonl=QUERIES.jsonl").to_owned();
            Catalog::read(&part(), &part(), &part())
        })
        .collect();
    println!(
        "| requests | tokens | definitions | messages | whole | median of one | nine of ten below |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut kinds: std::collections::BTreeMap<&str, Vec<String>> = Default::default();
    for made in made::corpus(40, 10 << 10, 40 << 10) {
        // What a step shows of a result is some kilobytes.
        let text: String = made.text.chars().take(3_000).collect();
        kinds.entry(made.kind).or_default().push(text);
    }
    let all: Vec<String> = kinds.values().flatten().cloned().collect();
    for catalog in &catalogs {
        let made =
            |steps| (0..REQUESTS).map(|at| catalog.request(at, steps, &all)).collect::<Vec<_>>();
        holds &= row(&format!("{}, {TOOLS} tools, a question", catalog.kind), &made(0), &tokenizer);
        holds &= row(&format!("{}, after 8 calls", catalog.kind), &made(8), &tokenizer);
    }
    for (kind, results) in &kinds {
        let catalog = catalogs.first().expect("a set of tools");
        let made: Vec<_> = (0..REQUESTS).map(|at| catalog.request(at, 24, results)).collect();
        holds &= row(&format!("{}, after 24 results of {kind}", catalog.kind), &made, &tokenizer);
    }
    let bare: Vec<_> = catalogs
        .iter()
        .flat_map(|catalog| &catalog.queries[..REQUESTS])
        .map(|query| ModelRequest::new(History::from(query.as_str())).with_system(SYSTEM))
        .collect();
    holds &= row("a question without tools", &bare, &tokenizer);
    if holds { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
