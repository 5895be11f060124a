//! Reads a transcript.

use std::collections::HashMap;

use serde_json::Value;

use super::response::{
    CALL_OUTPUT, CUSTOM_CALL, CUSTOM_OUTPUT, SEARCH_OUTPUT, found, is_async, is_by_service,
    read_items,
};
use crate::call::{Content, ToolResult};
use crate::dialect::Dialect;
use crate::model::{FoundMessage, History, Part, Reply};
use crate::wire::lenient::ids_as_text;
use crate::wire::openai::{add_system, file_of, image_at, invalid, read, take_text};
use crate::wire::{Transcript, WireError};

pub(super) fn history(items: &str) -> Result<Transcript, WireError> {
    let mut system = None;
    let mut found_messages = Vec::new();
    // The items of one reply, which this form groups by nothing but their order.
    let mut reply = Vec::new();
    let mut items = read::<Vec<Value>>(items)?;
    items.iter_mut().for_each(ids_as_text);
    let mut later = LaterOutputs::of(&items)?;
    let close =
        |reply: &mut Vec<Value>, later: &mut LaterOutputs, found: &mut Vec<FoundMessage>| {
            if !reply.is_empty() {
                let reply = read_items(std::mem::take(reply))?;
                let results = later.take(&reply);
                found.push(FoundMessage::Reply(reply));
                found.extend(results);
            }
            Ok::<(), WireError>(())
        };
    for mut item in items {
        let field = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        match (field("type"), field("role")) {
            ("message" | "", "assistant") => reply.push(item),
            ("message" | "", "user") => {
                close(&mut reply, &mut later, &mut found_messages)?;
                found_messages
                    .push(FoundMessage::User(content(item.get_mut("content").map(Value::take))?));
            }
            ("message" | "", "system" | "developer") => {
                add_system(&mut system, &content(item.get_mut("content").map(Value::take))?);
            }
            ("message" | "", role) => {
                return Err(invalid(format!("no message has the role {role:?}")));
            }
            (CALL_OUTPUT | CUSTOM_OUTPUT, _) => {
                close(&mut reply, &mut later, &mut found_messages)?;
                if !later.has(field("call_id")) {
                    let call_id = field("call_id").to_owned();
                    let result = output(&mut item)?;
                    found_messages.push(FoundMessage::Result { call_id, result });
                }
            }
            (SEARCH_OUTPUT, _) if !is_by_service(&item) => {
                close(&mut reply, &mut later, &mut found_messages)?;
                let call_id = field("call_id").to_owned();
                let result = found(item.get_mut("tools").map(Value::take));
                found_messages.push(FoundMessage::Result { call_id, result });
            }
            // A reference to an item that only the service has.
            ("item_reference", _) => {}
            _ => reply.push(item),
        }
    }
    close(&mut reply, &mut later, &mut found_messages)?;
    let (history, repairs) = History::repaired(found_messages);
    Ok(Transcript { system, history, repairs })
}

fn output(item: &mut Value) -> Result<ToolResult, WireError> {
    Ok(ToolResult::kept(content(item.get_mut("output").map(Value::take))?, None))
}

/// The results of calls that the model did not wait for: they may stand anywhere behind the call,
/// and some are not there yet.
struct LaterOutputs(HashMap<String, Option<ToolResult>>);

impl LaterOutputs {
    /// Reads the outputs of such calls in a transcript.
    fn of(items: &[Value]) -> Result<Self, WireError> {
        let is = |item: &Value, kind: &str| item.get("type").is_some_and(|own| own == kind);
        let id = |item: &Value| Some(item.get("call_id")?.as_str()?.to_owned());
        let is_call = |item: &Value| is(item, "function_call") || is(item, CUSTOM_CALL);
        let is_output = |item: &Value| is(item, CALL_OUTPUT) || is(item, CUSTOM_OUTPUT);
        let calls = items.iter().filter(|item| is_call(item) && is_async(Some(item)));
        let mut found: HashMap<String, Option<ToolResult>> =
            calls.filter_map(id).map(|id| (id, None)).collect();
        for item in items.iter().filter(|item| is_output(item)) {
            if let Some(result) = id(item).and_then(|id| found.get_mut(&id)) {
                *result = Some(output(&mut item.clone())?);
            }
        }
        Ok(Self(found))
    }

    /// Returns `true` if a result stands behind its reply already.
    fn has(&self, call_id: &str) -> bool {
        self.0.contains_key(call_id)
    }

    /// Returns the results of the calls of a reply that the model did not wait for.
    fn take(&mut self, reply: &Reply) -> Vec<FoundMessage> {
        let calls = reply.parts.iter().filter_map(|part| match part {
            Part::Call { call, .. } if is_async(part.echo(Dialect::OpenAiResponses)) => Some(call),
            _ => None,
        });
        let results = calls.map(|call| {
            let result = self.0.get_mut(&call.id).and_then(Option::take);
            let result = result.unwrap_or_else(|| ToolResult::background("no result yet"));
            FoundMessage::Result { call_id: call.id.clone(), result }
        });
        results.collect()
    }
}

/// Reads the content of a message that is not the model's, or of a result.
fn content(content: Option<Value>) -> Result<Vec<Content>, WireError> {
    match content {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![Content::text(text)]),
        Some(Value::Array(parts)) => parts.into_iter().map(part).collect(),
        Some(_) => Err(invalid("content is neither text nor a list of parts")),
    }
}

fn part(mut part: Value) -> Result<Content, WireError> {
    let text = |key: &str| part.get(key).and_then(Value::as_str);
    let kind = text("type").unwrap_or_default().to_owned();
    let content = match kind.as_str() {
        "input_text" | "output_text" | "text" => take_text(&mut part, "text").map(Content::text),
        "input_image" => {
            let file = text("file_id").map(|id| Content::text(format!("[image {id}]")));
            text("image_url").map(image_at).or(file)
        }
        "input_file" => Some(file_of(&part)),
        other => Some(Content::text(format!("[part of type {other}]"))),
    };
    content.ok_or_else(|| invalid(format!("a part of type {kind:?} lacks what it is named after")))
}
