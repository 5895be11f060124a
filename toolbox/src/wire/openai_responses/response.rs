//! Reads replies and transcripts.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::call::{Arguments, Content, ToolCall, ToolResult};
use crate::context::promotion::SEARCH_TOOL;
use crate::dialect::Dialect;
use crate::model::{Echo, Finish, ModelResponse, Part, Reply};
use crate::wire::WireError;
use crate::wire::lenient;
use crate::wire::openai::custom::custom_call;
use crate::wire::openai::{ended, invalid, read, reported, take_text, usage};

/// The type of an item that calls for a search of tools.
pub(super) const SEARCH_CALL: &str = "tool_search_call";
/// The type of an item with what such a search found.
pub(super) const SEARCH_OUTPUT: &str = "tool_search_output";

/// The type of an item with the output of a call.
pub(super) const CALL_OUTPUT: &str = "function_call_output";
/// The type of an item that calls a tool with a text in place of JSON, and of one with its output.
pub(super) const CUSTOM_CALL: &str = "custom_tool_call";
pub(super) const CUSTOM_OUTPUT: &str = "custom_tool_call_output";
/// The type of an item with a program that the service runs.
pub(super) const PROGRAM: &str = "program";

/// Returns `true` if the model goes on without the result of a call.
pub(super) fn is_async(echo: Option<&Value>) -> bool {
    echo.and_then(|echo| echo.get("async")) == Some(&Value::Bool(true))
}

/// Returns `true` if the echo of a call marks it as a search, not as a call of a function.
pub(super) fn is_own_search(echo: Option<&Value>) -> bool {
    echo.and_then(|echo| echo.get("type")).is_some_and(|kind| kind == SEARCH_CALL)
}

#[derive(Deserialize)]
pub(super) struct ResponseObject {
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient::id")]
    model: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    status: Option<String>,
    error: Option<Value>,
    incomplete_details: Option<Value>,
    #[serde(default, deserialize_with = "lenient::items")]
    pub(super) output: Option<Vec<Value>>,
    usage: Option<Value>,
}

pub(super) fn response(body: &str) -> Result<ModelResponse, WireError> {
    read::<ResponseObject>(body)?.into_model_response()
}

impl ResponseObject {
    pub(super) fn into_model_response(self) -> Result<ModelResponse, WireError> {
        if let Some(error) = reported(self.error.as_ref()) {
            return Err(error);
        }
        let status = self.status.as_deref().unwrap_or("completed");
        match status {
            "completed" | "incomplete" => {}
            "failed" | "cancelled" => {
                let message = format!("the response is {status}, without a reason");
                return Err(WireError::Service { kind: status.to_owned(), message });
            }
            other => return Err(invalid(format!("the response is not done: `{other}`"))),
        }
        let reason = self.incomplete_details.as_ref().and_then(|details| details.get("reason"));
        let cut = (status == "incomplete").then(|| match reason.and_then(Value::as_str) {
            Some("content_filter") => Finish::Refusal,
            // For any reason: the reply is incomplete, so its calls may not run.
            _ => Finish::Length,
        });
        let items = self.output.ok_or_else(|| invalid("there is no `output`"))?;
        // A call that is not complete, in a response that is.
        let is_cut = |item: &Value| item.get("status").is_some_and(|status| status == "incomplete");
        let cut = cut.or_else(|| {
            let mut calls = items.iter().filter(|item| item.get("name").is_some());
            calls.any(is_cut).then_some(Finish::Length)
        });
        let mut reply = read_items(items)?;
        reply.finish = cut.unwrap_or(reply.finish);
        let usage = usage(self.usage.as_ref());
        Ok(ModelResponse { reply, usage, model: self.model, id: self.id })
    }
}

/// Reads a reply, item by item.
pub(super) fn read_items(items: Vec<Value>) -> Result<Reply, WireError> {
    let mut parts = Vec::with_capacity(items.len());
    let mut refused = false;
    for item in items {
        let (part, refusal) = read_item(item)?;
        refused |= refusal;
        parts.extend(part);
    }
    let has = |wanted: fn(&Part) -> bool| parts.iter().any(wanted);
    let calls = has(|part| matches!(part, Part::Call { .. }));
    // A program goes on with the next request, until there is a message.
    let goes_on = !calls && has(is_of_program) && !has(|part| matches!(part, Part::Text { .. }));
    let finish = match (refused, goes_on) {
        (true, _) => Finish::Refusal,
        (false, true) => Finish::Pause,
        (false, false) => ended(calls),
    };
    Ok(Reply::new(parts).with_finish(finish))
}

/// Returns `true` for a program, and for its output.
fn is_of_program(part: &Part) -> bool {
    let Part::Other(echo) = part else { return false };
    let kind = echo.value.get("type").and_then(Value::as_str);
    matches!(kind, Some(PROGRAM | "program_output"))
}

/// Reads one item: its part, unless it is empty, and `true` if it is a refusal.
fn read_item(mut item: Value) -> Result<(Option<Part>, bool), WireError> {
    let fields = item.as_object_mut().ok_or_else(|| invalid("an item is not an object"))?;
    // The service writes null where it would not accept it.
    fields.retain(|_, value| !value.is_null());
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or("message").to_owned();
    match kind.as_str() {
        "message" => {
            let (text, refused) = message_text(item.get_mut("content").map(Value::take))?;
            let echo = kept(&mut item, &["id", "phase"]);
            // Without an id the rest has nothing to refer to.
            let echo = echo.filter(|echo| echo.value.get("id").is_some_and(Value::is_string));
            Ok(((!text.is_empty()).then_some(Part::Text { text, echo }), refused))
        }
        "function_call" => {
            let arguments = arguments(&mut item);
            let id = take_text(&mut item, "call_id").unwrap_or_default();
            let name = take_text(&mut item, "name").unwrap_or_default();
            let echo = kept(&mut item, &["id", "namespace", "caller", "async"]);
            Ok((Some(Part::Call { call: ToolCall::new(id, name, arguments), echo }), false))
        }
        CUSTOM_CALL => {
            let id = take_text(&mut item, "call_id").unwrap_or_default();
            let name = take_text(&mut item, "name").unwrap_or_default();
            let input = take_text(&mut item, "input").unwrap_or_default();
            let call = custom_call(id, name, &input);
            let echo = kept(&mut item, &["type", "id", "namespace", "caller", "async"]);
            Ok((Some(Part::Call { call, echo }), false))
        }
        // A search that the service runs itself comes with its output.
        SEARCH_CALL if !is_by_service(&item) => {
            let arguments = arguments(&mut item);
            let id = take_text(&mut item, "call_id").unwrap_or_default();
            let echo = kept(&mut item, &["type", "id"]);
            Ok((Some(Part::Call { call: ToolCall::new(id, SEARCH_TOOL, arguments), echo }), false))
        }
        "reasoning" => {
            let text = reasoning_text(&item);
            let echo = Some(Echo::new(Dialect::OpenAiResponses, item));
            Ok((Some(Part::Reasoning { text, echo }), false))
        }
        _ => Ok((Some(Part::Other(Echo::new(Dialect::OpenAiResponses, item))), false)),
    }
}

/// Takes the arguments of a call: JSON text, or for some items an object.
fn arguments(item: &mut Value) -> Arguments {
    match item.get_mut("arguments").map(Value::take) {
        None => Arguments::default(),
        Some(Value::String(text)) => Arguments::from(text),
        Some(other) => Arguments::from(other),
    }
}

/// Returns `true` if the service ran a search itself.
pub(super) fn is_by_service(item: &Value) -> bool {
    item.get("execution").is_some_and(|execution| execution == "server")
}

/// Reads the output of a search: the tools it found, as a text that lists them, and their names.
pub(super) fn found(tools: Option<Value>) -> ToolResult {
    let tools = match tools {
        Some(Value::Array(tools)) if !tools.is_empty() => tools,
        _ => return ToolResult::kept(Vec::new(), None),
    };
    let functions = tools.iter().flat_map(|tool| match tool.get("tools") {
        // A namespace.
        Some(Value::Array(tools)) => tools.as_slice(),
        _ => std::slice::from_ref(tool),
    });
    let name = |tool: &Value| Some(tool.get("name")?.as_str()?.to_owned());
    let names = functions.filter_map(name).collect();
    let text = json!({ "tools": tools }).to_string();
    ToolResult::kept(vec![Content::text(text)], None).with_references(names)
}

/// Returns the echo of an item: the keys that only this service knows.
fn kept(item: &mut Value, keys: &[&str]) -> Option<Echo> {
    let fields = keys.iter().filter_map(|key| {
        let value = item.get_mut(*key)?.take();
        Some(((*key).to_owned(), value))
    });
    let fields: Map<String, Value> = fields.collect();
    (!fields.is_empty()).then(|| Echo::new(Dialect::OpenAiResponses, Value::Object(fields)))
}

/// Returns the text of a message of the model, and `true` if it is a refusal.
fn message_text(content: Option<Value>) -> Result<(String, bool), WireError> {
    let parts = match content {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => return Ok((text, false)),
        Some(Value::Array(parts)) => parts,
        Some(_) => return Err(invalid("`content` is neither text nor a list of parts")),
    };
    let mut all = String::new();
    let mut refused = false;
    for mut part in parts {
        let refusal = take_text(&mut part, "refusal");
        refused |= refusal.as_ref().is_some_and(|text| !text.is_empty());
        let text = refusal.or_else(|| take_text(&mut part, "text")).unwrap_or_default();
        if all.is_empty() {
            all = text;
        } else {
            all.push_str(&text);
        }
    }
    Ok((all, refused))
}

/// Returns the text of a model's reasoning: the summary, else the reasoning itself.
fn reasoning_text(item: &Value) -> String {
    let texts = |key: &str, between: &str| {
        let parts = item.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        texts.join(between)
    };
    let summary = texts("summary", "\n\n");
    if summary.is_empty() { texts("content", "") } else { summary }
}
