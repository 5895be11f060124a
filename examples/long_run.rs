//! How does an agent work for hours, through more than its model can read?
//!
//! It works through a log of 30 MB in 240 steps, and no request is longer than 20 000 tokens. The
//! model is a script that knows nothing but the request before it, as a real one does: it notes
//! what it found in each part, and adds up the notes at the end.
//!
//! `cargo run -p toolbox-examples --example long_run`

#![allow(
    clippy::needless_pass_by_value,
    clippy::print_stdout,
    reason = "tools are written as users write them, and an example shows what it does"
)]

use std::convert::Infallible;
use std::fmt::Write as _;

use toolbox::agent::{Agent, ContextRule, EventKind, StopReason};
use toolbox::model::{History, Message, ModelRequest, ModelResponse, Part, Reply};
use toolbox::results::MemoryResults;
use toolbox::testing::ScriptedModel;
use toolbox::{State, ToolBox, ToolCall, tool, tools};

const PARTS: usize = 120;
const PART_BYTES: usize = 250_000;
const LIMIT: usize = 20_000;

/// The log of a service, part by part.
struct Log(Vec<String>);

impl Log {
    /// Makes a log in which some lines report a payment that failed; returns their number too.
    fn generate() -> (Self, usize) {
        let (mut state, mut failures) = (7_u64, 0);
        let mut parts = Vec::new();
        for part in 0..PARTS {
            let mut text = String::with_capacity(PART_BYTES + 100);
            while text.len() < PART_BYTES {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let (number, at) = (state >> 40, text.len());
                if number % 997 == 0 {
                    failures += 1;
                    let _ = writeln!(text, "{part:03}:{at:06} ERROR payment {number} failed");
                } else {
                    let _ = writeln!(
                        text,
                        "{part:03}:{at:06} INFO request {number} served in {} ms",
                        number % 90
                    );
                }
            }
            parts.push(text);
        }
        (Self(parts), failures)
    }
}

/// Reads one part of the log.
#[tool(read_only, idempotent)]
fn read_part(
    /// The number of the part, from 0 to 119
    part: usize,
    log: State<Log>,
) -> Result<String, String> {
    log.0.get(part).cloned().ok_or_else(|| format!("there are {PARTS} parts"))
}

/// Replies from what is in the request, and from nothing else.
fn reply(request: &ModelRequest) -> Reply {
    let Some(step) = request.history.steps().last() else {
        return read(0, "I go through the log part by part.");
    };
    let (call, result) = step.calls().last().expect("it calls something in each step");
    if call.name == "read_part" {
        let handle = result.handle().expect("a part is too large to be shown");
        let arguments = serde_json::json!({"handle": handle, "search": "ERROR payment"});
        return Reply::calls([ToolCall::new("", "result_read", arguments)]);
    }
    let part =
        request.history.steps().filter_map(part_of).next_back().expect("it reads them in order");
    let found = result.text().lines().filter(|line| line.contains("ERROR payment")).count();
    let note = format!("part {part}: {found} failed");
    if part + 1 < PARTS {
        return read(part + 1, &note);
    }
    // The notes of all parts: those in the transcript, and those in the summary.
    let sum = notes(&request.history).iter().map(|(_, count)| count).sum::<usize>() + found;
    Reply::text(format!("{sum} payments failed."))
}

fn read(part: usize, note: &str) -> Reply {
    let call = ToolCall::new("", "read_part", serde_json::json!({"part": part}));
    Reply::new(vec![Part::text(note), Part::call(call)])
}

fn part_of(step: &toolbox::model::Step) -> Option<usize> {
    let (call, _) = step.calls().find(|(call, _)| call.name == "read_part")?;
    let arguments: serde_json::Value = serde_json::from_str(call.arguments.as_str()).ok()?;
    usize::try_from(arguments["part"].as_u64()?).ok()
}

/// Returns the notes in a transcript: the part, and how many payments failed in it.
fn notes(history: &History) -> Vec<(usize, usize)> {
    let mut notes = Vec::new();
    for message in history.messages() {
        let text = match message {
            Message::User(content) => content.iter().filter_map(|part| part.as_text()).collect(),
            Message::Step(step) => step.reply().content().into_owned(),
            _ => continue,
        };
        for line in text.lines() {
            let Some((part, count)) =
                line.strip_prefix("part ").and_then(|line| line.split_once(": "))
            else {
                continue;
            };
            let count = count.split(' ').next().and_then(|count| count.parse().ok());
            notes.extend(part.parse().ok().zip(count));
        }
    }
    notes
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (log, failures) = Log::generate();
    let bytes: usize = log.0.iter().map(String::len).sum();
    let toolbox = ToolBox::builder()
        .tools(tools![read_part])
        .state(log)
        .keep_results(MemoryResults::new())
        .build()?;

    // A summary is what the model noted itself; a real agent would ask a small model for it.
    let summarize = |removed: History| async move {
        let notes = notes(&removed);
        let lines = notes.iter().map(|(part, count)| format!("part {part}: {count} failed"));
        Ok::<_, Infallible>(lines.collect::<Vec<_>>().join("\n"))
    };
    let model =
        ScriptedModel::new().respond(|request| Ok(ModelResponse::from(reply(request)))).forever();
    let agent = Agent::builder(model.clone())
        .toolbox(toolbox)
        .max_iterations(500)
        .max_context_tokens(LIMIT)
        .context_rules([ContextRule::old_results(4), ContextRule::summarize_oldest(summarize)])
        .build()?;

    let outcome = agent
        .run("How many payments failed, in the whole log?")
        .on_event(|event| match event.kind {
            EventKind::ResultsShortened { results, before, after } => {
                println!(
                    "step {}: {results} results became references, {before} -> {after} tokens",
                    event.step
                );
            }
            EventKind::MessagesRemoved { removed, before, after, .. } => {
                println!(
                    "step {}: {} messages were summarized, {before} -> {after} tokens",
                    event.step,
                    removed.len()
                );
            }
            _ => {}
        })
        .await?;

    assert_eq!(outcome.reason, StopReason::Answered);
    assert_eq!(outcome.content, format!("{failures} payments failed."));
    let longest =
        model.requests().iter().map(|request| request.tokens().total()).max().unwrap_or_default();
    println!("{} (a log of {bytes} bytes)", outcome.content);
    println!("{} requests, the longest of {longest} tokens of {LIMIT}", outcome.iterations);
    assert!(longest <= LIMIT && outcome.iterations > 240);
    Ok(())
}
