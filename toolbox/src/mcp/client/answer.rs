//! A server's answer to a call, converted to a result.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::part::{cleaned, part};
use super::questions::InputRequired;
use super::server_request::ServerRequest;
use super::skills::PassedFile;
use super::text;
use crate::call::{Content, FailureKind, IntoToolResult as _, ResourceContents, Role, ToolResult};
use crate::prompt::{PromptMessage, RenderedPrompt};
use crate::resource;
use crate::text::cut;
use crate::text::{QUOTED, quote};
use crate::validate::{self, ValidationLimits};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawResult<'a> {
    result_type: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    /// The structure of a result of 2024-10-07.
    #[serde(borrow)]
    tool_result: Option<&'a RawValue>,
    /// Those of a prompt.
    #[serde(borrow, default)]
    messages: Vec<RawPromptMessage<'a>>,
    /// That of a prompt.
    #[serde(borrow, default)]
    description: Option<Cow<'a, str>>,
    /// Those of a resource.
    #[serde(borrow, default)]
    contents: Vec<&'a RawValue>,
    #[serde(borrow)]
    structured_content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<Value>,
    #[serde(borrow)]
    input_requests: Option<&'a RawValue>,
    #[serde(default)]
    request_state: Option<String>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawPromptMessage<'a> {
    role: Role,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// The keys of `_meta` that concern one connection, and are not forwarded to another.
const PER_HOP: [&str; 7] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
    "io.modelcontextprotocol/subscriptionId",
    "io.modelcontextprotocol/serverInfo",
    "progressToken",
];

/// The key in `_meta` under which a server of this crate puts the data of a failure that the output
/// schema does not describe.
const ERROR_DATA: &str = "toolbox/error";

/// The answer of a server to a call.
pub(super) enum ServerAnswer {
    Result(ToolResult),
    /// It asks for something before there is a result.
    InputRequired(InputRequired),
    /// It has begun a task in place of a result.
    Task,
}

/// Reads the text of an answer. `tool` is named in the error if it cannot be read.
pub(super) fn read(request: ServerRequest<'_>, tool: &str, raw: &str) -> ServerAnswer {
    let answer: RawResult<'_> = match serde_json::from_str(raw) {
        Ok(answer) => answer,
        Err(error) => return ServerAnswer::Result(unreadable(tool, &error.to_string())),
    };
    if answer.result_type.as_deref() == Some("input_required") {
        let requests = answer.input_requests.map(|raw| serde_json::from_str(raw.get()));
        return ServerAnswer::InputRequired(InputRequired {
            requests: requests.transpose().ok().flatten().unwrap_or_default(),
            state: answer.request_state,
            of_error: false,
        });
    }
    if answer.result_type.as_deref() == Some("task") {
        return ServerAnswer::Task;
    }
    ServerAnswer::Result(match request {
        ServerRequest::Tool { .. } => result_of(tool, &answer),
        ServerRequest::Prompt { .. } => messages_of(&answer),
        ServerRequest::Resource { .. } => contents_of(&answer),
        ServerRequest::SkillFile { file } => skill_file_of(&answer, file),
    })
}

fn messages_of(answer: &RawResult<'_>) -> ToolResult {
    let message = |message: &RawPromptMessage<'_>| {
        let content = part(message.content.get());
        match message.role {
            Role::User => PromptMessage::user(content),
            Role::Assistant => PromptMessage::assistant(content),
        }
    };
    let mut rendered = RenderedPrompt::new(answer.messages.iter().map(message).collect::<Vec<_>>());
    rendered.description = answer.description.as_deref().map(|text| {
        let mut description = text.to_owned();
        text::clean_description(&mut description);
        description
    });
    rendered.into_tool_result()
}

/// Reads the contents of a file of a skill, which stay as they are if they are those that were
/// listed.
fn skill_file_of(answer: &RawResult<'_>, file: &PassedFile) -> ToolResult {
    let contents = match read_contents(answer) {
        Ok(contents) => contents,
        Err(failure) => return failure,
    };
    match file.verified(contents) {
        Ok(contents) => resource::result_of(Some(vec![contents])),
        Err(reason) => {
            let text = format!("the contents of this file of a skill are refused: {reason}");
            ToolResult::failure(FailureKind::InvalidOutput, text)
        }
    }
}

fn read_contents(answer: &RawResult<'_>) -> Result<Vec<ResourceContents>, ToolResult> {
    let read = |raw: &&RawValue| serde_json::from_str::<ResourceContents>(raw.get());
    let contents = answer.contents.iter().map(read).collect::<Result<Vec<_>, _>>();
    contents.map_err(|error| {
        let reason = quote(&error.to_string(), 4 * QUOTED);
        let text = format!("the contents cannot be read: {reason}");
        ToolResult::failure(FailureKind::InvalidOutput, text)
    })
}

fn contents_of(answer: &RawResult<'_>) -> ToolResult {
    match read_contents(answer) {
        Ok(contents) => {
            let cleaned = |contents: ResourceContents| match cleaned(contents.into()) {
                Content::Resource(contents) => Some(*contents),
                _ => None,
            };
            resource::result_of(Some(contents.into_iter().filter_map(cleaned).collect()))
        }
        Err(failure) => failure,
    }
}

fn result_of(tool: &str, raw_result: &RawResult<'_>) -> ToolResult {
    match raw_result.result_type.as_deref() {
        None | Some("complete") => {}
        Some(other) => {
            let other = text::clean(cut(other, 100)).into_owned();
            return unreadable(tool, &format!("results of type `{other}` are not understood"));
        }
    }
    let read = (parts(raw_result.content), is_error(raw_result.is_error.as_ref()));
    let (parts, is_error) = match read {
        (Ok(parts), Ok(is_error)) => (parts, is_error),
        (Err(reason), _) | (_, Err(reason)) => return unreadable(tool, &reason),
    };
    let structured = raw_result.structured_content.or(raw_result.tool_result);
    let structured = structured.map(|raw| serde_json::from_str::<Value>(raw.get()));
    let structured = match structured.transpose() {
        Ok(structured) => structured.map(|mut value| {
            text::clean_value(&mut value);
            value
        }),
        Err(error) => return unreadable(tool, &error.to_string()),
    };
    let mut meta = meta_of(raw_result.meta);
    let result = if is_error {
        let data = structured.or_else(|| meta.remove(ERROR_DATA));
        let mut parts = parts.unwrap_or_default();
        if parts.is_empty() {
            let data_text = data.as_ref().map(Value::to_string);
            parts.push(data_text.unwrap_or_else(|| format!("tool `{tool}` failed")).into());
        }
        let result = ToolResult::reported(parts);
        match data {
            Some(data) => result.with_structured_content(data),
            None => result,
        }
    } else {
        match (structured, parts) {
            (None, None) => {
                return unreadable(tool, "it has neither `content` nor `structuredContent`");
            }
            (None, Some(parts)) => made_of(parts),
            (Some(value), parts) => match <[Content; 1]>::try_from(parts.unwrap_or_default()) {
                // The text is the structured result, which needs to be kept only once.
                Ok([text]) if repeats(&text, &value) => ToolResult::mirrored(text),
                Ok(part) => made_of(part.into()).with_structured_content(value),
                Err(parts) if parts.is_empty() => ToolResult::structured(value.to_string()),
                Err(parts) => made_of(parts).with_structured_content(value),
            },
        }
    };
    meta.into_iter().fold(result, |result, (key, value)| result.with_meta(key, value))
}

/// Reads the parts of a result: a list of them, a part alone, or a text.
fn parts(raw: Option<&RawValue>) -> Result<Option<Vec<Content>>, String> {
    let Some(raw) = raw.map(RawValue::get) else { return Ok(None) };
    let unread = |error: serde_json::Error| format!("`content`: {error}");
    Ok(Some(match raw.as_bytes().first() {
        Some(b'[') => {
            let parts = serde_json::from_str::<Vec<&RawValue>>(raw).map_err(unread)?;
            parts.into_iter().map(|raw| part(raw.get())).collect()
        }
        Some(b'{') => vec![part(raw)],
        Some(b'"') => vec![cleaned(serde_json::from_str::<String>(raw).map_err(unread)?.into())],
        _ => return Err("`content` is no list of parts".to_owned()),
    }))
}

/// Reads the mark of a failure, where it is a text too.
fn is_error(mark: Option<&Value>) -> Result<bool, String> {
    match mark {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(is_error)) => Ok(*is_error),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(_) => Err("`isError` is neither true nor false".to_owned()),
    }
}

/// Reads a `_meta` without its per-connection keys. A value that is no object yields an empty map.
fn meta_of(raw: Option<&RawValue>) -> Map<String, Value> {
    let meta = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
    handed_on(meta.unwrap_or_default())
}

/// Returns a `_meta` without its per-connection keys.
pub(super) fn handed_on(mut meta: Map<String, Value>) -> Map<String, Value> {
    meta.retain(|key, _| !PER_HOP.contains(&key.as_str()));
    meta
}

/// Returns how a result deviates from the tool's output schema.
pub(super) fn misfit(result: &ToolResult, schema: Option<&Value>) -> Option<String> {
    let schema = schema.filter(|_| !result.is_error())?;
    let Some(structured) = result.structured_content() else {
        return Some("there is no structured result".to_owned());
    };
    let faults = validate::conforms(
        &structured.to_string(),
        schema,
        schema,
        "",
        &ValidationLimits::default(),
    );
    faults.first().map(|fault| text::clean(cut(&fault.to_string(), 300)).into_owned())
}

fn made_of(mut parts: Vec<Content>) -> ToolResult {
    match parts.pop() {
        Some(only) if parts.is_empty() => ToolResult::from(only),
        last => {
            parts.extend(last);
            ToolResult::from(parts)
        }
    }
}

pub(super) fn unreadable(tool: &str, reason: &str) -> ToolResult {
    let reason = quote(reason, 4 * QUOTED);
    let message = format!("the answer of tool `{tool}` cannot be read: {reason}");
    ToolResult::failure(FailureKind::InvalidOutput, message)
}

/// Returns the result of a call in the middle of which its server asks for something that nobody
/// answers.
pub(super) fn unanswered(tool: &str, required: &InputRequired) -> ToolResult {
    let mut requested: Vec<String> = required
        .requests
        .values()
        .filter_map(|request| request.get("method")?.as_str())
        .map(|method| text::clean(cut(method, 100)).into_owned())
        .collect();
    requested.dedup();
    requested.truncate(5);
    let requested =
        if requested.is_empty() { "more input".to_owned() } else { requested.join(", ") };
    ToolResult::error(format!(
        "tool `{tool}` did not finish: its server asks for {requested} in the middle of the call, and nobody here can answer; call it with arguments that need no question"
    ))
}

/// Returns whether a part is the JSON of the structured result.
fn repeats(part: &Content, value: &Value) -> bool {
    let text = part.as_text();
    text.is_some_and(|text| serde_json::from_str::<Value>(text).is_ok_and(|text| text == *value))
}
