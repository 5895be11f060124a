//! `call`: one call of one tool.

use std::io::{self, IsTerminal, Read};

use serde_json::{Map, Value, json};

use super::arguments::CallCommand;
use super::outcome::{Exit, Outcome};
use super::progress::Progress;
use super::source::ToolSource;
use super::text::line;
use super::tools::unknown;
use crate::call::{Content, FailureKind, ToolCall, ToolResult};
use crate::context::{CancellationToken, Decision, ToolContext};
use crate::text::clean;

/// The maximum number of bytes read from standard input.
const MAX_INPUT: u64 = 64 << 20;

pub(super) async fn call(
    source: &ToolSource,
    wanted: CallCommand,
    cancelled: CancellationToken,
) -> Outcome {
    let Some(tool) = source.tool(&wanted.tool) else { return unknown(source, &wanted.tool) };
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
            let next = format!("`show {}` lists its arguments", line(&wanted.tool));
            return Outcome::failed(Exit::Usage, format!("{what}; {next}"));
        }
    };
    let toolbox = source.toolbox.filtered(|other| other.name() == wanted.tool);
    if wanted.yes {
        toolbox.register(tool.with_approver(|_| async { Decision::Approve }));
    }
    let progress = Progress::of_call(&wanted.tool);
    let context = ToolContext::new()
        .with_cancellation(cancelled)
        .with_asker(super::terminal::ask)
        .with_progress(move |report| progress.report(&report));
    let result = toolbox.call_in(&context, ToolCall::new("1", wanted.tool, arguments)).await;
    outcome_of(&result)
}

fn outcome_of(result: &ToolResult) -> Outcome {
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
    let parts: Vec<String> = if result.is_error() {
        vec![result.text().into_owned()]
    } else {
        result.content().iter().map(part).collect()
    };
    let text = parts.join("\n");
    let mut outcome = if result.is_error() {
        let mut complaint = format!("error: {}", clean(&text));
        if result.failure_kind() == Some(FailureKind::NotApproved) {
            complaint.push_str("\nadd --yes to approve of the call");
        }
        Outcome { complaint, exit: Exit::Failed, text: String::new(), value }
    } else {
        // Output to a file or another program is not changed.
        let text = if io::stdout().is_terminal() { clean(&text).into_owned() } else { text };
        Outcome::fine(text, value)
    };
    if result.failure_kind() == Some(FailureKind::Cancelled) {
        outcome.exit = Exit::Interrupted;
    }
    outcome
}

/// Formats a part of a result as text.
fn part(content: &Content) -> String {
    match content {
        Content::Text(text) => text.to_string(),
        Content::Image(media) => {
            format!("[image, {}, {} bytes of base64]", media.mime_type, media.data.len())
        }
        Content::Audio(media) => {
            format!("[audio, {}, {} bytes of base64]", media.mime_type, media.data.len())
        }
        Content::ResourceLink(link) => link.to_string(),
        Content::Resource(resource) => match &resource.text {
            Some(text) => text.clone(),
            None => format!("[resource {}]", resource.uri),
        },
    }
}

/// Returns the arguments as JSON: one object, `-` for standard input, or words `name=value`.
async fn arguments(words: &[String], schema: &Value) -> Result<String, String> {
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
