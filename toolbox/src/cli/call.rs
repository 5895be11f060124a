//! `call`: one call of one tool.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Read};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::channel;

use super::arguments::CallCommand;
use super::outcome::{Exit, Outcome, printed};
use super::progress::Progress;
use super::save::{SaveTarget, SavedParts, displayed};
use super::source::ToolSource;
use super::terminal;
use super::text::{counted, line};
use super::tools::unknown;
use crate::call::{Content, FailureKind, ToolCall, ToolResult};
use crate::context::{
    AskApproval, CancellationToken, Decision, OutputItem, ToolContext, passing_on,
};
use crate::text::clean;

/// The items of a tool that streams that wait to be printed; then the tool waits.
const ITEMS: usize = 16;

/// The maximum number of bytes read from standard input.
const MAX_INPUT: u64 = 64 << 20;

pub(super) async fn call(
    source: &ToolSource,
    wanted: CallCommand,
    cancelled: CancellationToken,
) -> Outcome {
    let Some(tool) = source.tool(&wanted.tool) else { return unknown(source, &wanted.tool) };
    let save = match SaveTarget::of(&wanted.save) {
        Ok(save) => save,
        Err(outcome) => return *outcome,
    };
    let arguments_json = arguments(&wanted.arguments, &tool.definition().input_schema);
    let arguments_json = tokio::select! {
        arguments_json = arguments_json => arguments_json,
        () = cancelled.cancelled() => {
            return Outcome::failed(Exit::Interrupted, "interrupted");
        }
    };
    let arguments = match arguments_json {
        Ok(arguments) => arguments,
        Err(what) => {
            let next = format!("`{} show {}`", source.program, line(&wanted.tool));
            return Outcome::failed(Exit::Usage, format!("{what}; {next} says what it takes"));
        }
    };
    let own = tool.name().to_owned();
    let mut toolbox = source.toolbox.filtered(|other| other.name() == own);
    if save.is_some() {
        toolbox = toolbox.with_whole_results();
    }
    if wanted.yes {
        toolbox.register(tool.with_approver(|_| async { Decision::Approve }));
    }
    let name = wanted.tool;
    let (context, progress) = call_context(&name, cancelled);
    let (outputs, mut items) = channel(ITEMS);
    let prints_items = source.prints_items && save.is_none();
    let context = if prints_items { context.with_outputs(outputs) } else { context };
    let mut is_printed = false;
    let call = toolbox.call_in(&context, ToolCall::new("1", name.as_str(), arguments));
    let print = |item: OutputItem| {
        // A call that the tool makes itself may stream as well.
        if item.tool == own {
            is_printed = true;
            progress.hidden(|| printed(&shown(&item.content)));
        }
        std::future::ready(())
    };
    let result = passing_on(call, &mut items, print).await;
    progress.end();
    let mut value = value_of(&result);
    if result.is_error() {
        let text = if is_printed { first_line(&result) } else { result.text().into_owned() };
        return failed(source, &name, &result, &text, value);
    }
    let mut outcome = match save {
        Some(save) => saved(&save, result.content(), &mut value),
        None if is_printed => Outcome::fine(String::new(), Value::Null),
        None => Outcome::fine(shown(result.content()), Value::Null),
    };
    if result.omitted_bytes() > 0 {
        outcome.complaint = format!(
            "{} left out of the result: --save FILE writes all of it",
            counted(result.omitted_bytes(), "byte")
        );
    }
    Outcome { value, ..outcome }
}

/// Returns the context of a call from the command line, and the display of its progress.
pub(super) fn call_context(
    name: &str,
    cancelled: CancellationToken,
) -> (ToolContext, Arc<Progress>) {
    let progress = Arc::new(Progress::of_call(name));
    let reported = Arc::clone(&progress);
    let context = ToolContext::new()
        .with_cancellation(cancelled)
        .with_asker(terminal::ask)
        .with_progress(move |report| reported.report(&report));
    let context = if terminal::is_attended() {
        context.with_shared_approver(Arc::new(AskApproval))
    } else {
        context
    };
    (context, progress)
}

/// Returns the JSON of a result.
fn value_of(result: &ToolResult) -> Value {
    let mut value = json!({"content": result.content(), "is_error": result.is_error()});
    if let Some(data) = result.error_data() {
        value["data"] = data.clone();
    } else if let Some(structured) = result.structured_content() {
        value["structured"] = structured;
    }
    if let Some(text) = result.user_text() {
        value["for_user"] = text.into();
    }
    if let Some(code) = result.code() {
        value["code"] = code.into();
    }
    value
}

/// Returns the first part of a failure, which what came before it follows.
fn first_line(result: &ToolResult) -> String {
    let first = result.content().iter().find_map(Content::as_text);
    first.unwrap_or_default().to_owned()
}

/// Returns the outcome of a call that failed.
fn failed(
    source: &ToolSource,
    name: &str,
    result: &ToolResult,
    text: &str,
    value: Value,
) -> Outcome {
    let mut complaint = format!("error: {}", clean(text));
    match result.failure_kind() {
        Some(FailureKind::NotApproved) if !terminal::is_attended() => {
            complaint.push_str("\nadd --yes to approve of the call");
        }
        Some(FailureKind::ResultTooLarge) => {
            complaint.push_str("\nadd --save FILE to write the whole result to a file");
        }
        Some(FailureKind::InvalidArguments) => {
            let name = line(name);
            let _ = write!(complaint, "\n`{} show {name}` says what it takes", source.program);
        }
        _ => {}
    }
    let exit = match result.failure_kind() {
        Some(FailureKind::Cancelled) => Exit::Interrupted,
        _ => Exit::Failed,
    };
    Outcome { complaint, exit, text: String::new(), value }
}

/// Writes parts to files, and puts the files and the other parts into `value`. What cannot be
/// written is printed.
pub(super) fn saved(save: &SaveTarget<'_>, parts: &[Content], value: &mut Value) -> Outcome {
    match save.save(parts) {
        Ok(SavedParts { files, rest }) => {
            value["content"] = json!(rest);
            value["saved"] = json!(files);
            let mut text = shown(rest);
            for file in files {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(&file.displayed());
            }
            Outcome::fine(text, Value::Null)
        }
        Err(fault) => {
            let fault = format!("the result was not saved: {fault}");
            value["error"] = fault.as_str().into();
            Outcome { text: shown(parts), ..Outcome::failed(Exit::Failed, fault) }
        }
    }
}

/// Formats parts of a result as text. Output to a file or another program is not changed.
pub(super) fn shown<'a>(parts: impl IntoIterator<Item = &'a Content>) -> String {
    let parts: Vec<String> = parts.into_iter().map(displayed).collect();
    let text = parts.join("\n");
    if io::stdout().is_terminal() { clean(&text).into_owned() } else { text }
}

/// Returns the arguments as JSON: one object, `-` for standard input, or words `name=value`.
pub(super) async fn arguments(words: &[String], schema: &Value) -> Result<String, String> {
    match words {
        [] => Ok("{}".to_owned()),
        [dash] if dash == "-" => input().await,
        [object] if object.trim_start().starts_with('{') => Ok(object.clone()),
        words => pairs(words, schema).map(|pairs| Value::Object(pairs).to_string()),
    }
}

/// Reads standard input, on a thread that does not delay the end of the process.
async fn input() -> Result<String, String> {
    let (sender, text) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = io::stdin().take(MAX_INPUT).read_to_string(&mut text);
        let _ = sender.send(read.map(|_| text));
    });
    let read = text.await.unwrap_or_else(|_| Err(io::ErrorKind::UnexpectedEof.into()));
    read.map_err(|error| format!("standard input cannot be read: {error}"))
}

fn pairs(words: &[String], schema: &Value) -> Result<Map<String, Value>, String> {
    let mut pairs: Map<String, Value> = Map::new();
    for word in words {
        let Some((name, text)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(format!(
                "{word:?} is no argument: write one JSON object, or words like name=value"
            ));
        };
        let schema = &schema["properties"][name];
        let is_list = takes(schema, "array") && !takes(schema, "string");
        if is_list && !text.trim_start().starts_with('[') {
            let item = value(name, text, &schema["items"])?;
            match pairs.entry(name).or_insert_with(|| json!([])) {
                Value::Array(items) => items.push(item),
                _ => return Err(format!("`{name}` is given twice")),
            }
        } else if pairs.insert(name.to_owned(), value(name, text, schema)?).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
    }
    Ok(pairs)
}

/// Parses a value: text if the schema takes text; else JSON, or text if the schema sets no type.
pub(super) fn value(name: &str, text: &str, schema: &Value) -> Result<Value, String> {
    if takes(schema, "string") {
        return Ok(text.into());
    }
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(_) if says_nothing(schema) => Ok(text.into()),
        Err(_) => Err(format!("`{name}` does not take the text {text:?}: write its value as JSON")),
    }
}

fn takes(schema: &Value, kind: &str) -> bool {
    let of_type = match &schema["type"] {
        Value::String(own) => own == kind,
        Value::Array(kinds) => kinds.iter().any(|own| own == kind),
        _ => false,
    };
    let choices = || ["anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
    let of_values = kind == "string"
        && schema["type"].is_null()
        && schema["enum"].as_array().is_some_and(|values| values.iter().any(Value::is_string));
    of_type || of_values || choices().any(|choice| takes(choice, kind))
}

/// Returns whether a schema sets no type, such as one with only a reference.
fn says_nothing(schema: &Value) -> bool {
    schema["type"].is_null() && schema["anyOf"].is_null() && schema["oneOf"].is_null()
}
