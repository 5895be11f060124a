//! Reads a transcript.

use serde_json::Value;

use super::response::{SEARCH_OUTPUT, found, is_by_service, read_items};
use crate::call::{Content, ToolResult};
use crate::model::{FoundMessage, History};
use crate::wire::openai::{add_system, file_of, image_at, invalid, read, take_text};
use crate::wire::{Transcript, WireError};

pub(super) fn history(items: &str) -> Result<Transcript, WireError> {
    let mut system = None;
    let mut found_messages = Vec::new();
    // The items of one reply, which this form groups by nothing but their order.
    let mut reply = Vec::new();
    let close = |reply: &mut Vec<Value>, found: &mut Vec<FoundMessage>| {
        if !reply.is_empty() {
            found.push(FoundMessage::Reply(read_items(std::mem::take(reply))?));
        }
        Ok::<(), WireError>(())
    };
    for mut item in read::<Vec<Value>>(items)? {
        let field = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        match (field("type"), field("role")) {
            ("message" | "", "assistant") => reply.push(item),
            ("message" | "", "user") => {
                close(&mut reply, &mut found_messages)?;
                found_messages
                    .push(FoundMessage::User(content(item.get_mut("content").map(Value::take))?));
            }
            ("message" | "", "system" | "developer") => {
                add_system(&mut system, &content(item.get_mut("content").map(Value::take))?);
            }
            ("message" | "", role) => {
                return Err(invalid(format!("no message has the role {role:?}")));
            }
            ("function_call_output", _) => {
                close(&mut reply, &mut found_messages)?;
                let call_id = field("call_id").to_owned();
                let content = content(item.get_mut("output").map(Value::take))?;
                let result = ToolResult::kept(content, None);
                found_messages.push(FoundMessage::Result { call_id, result });
            }
            (SEARCH_OUTPUT, _) if !is_by_service(&item) => {
                close(&mut reply, &mut found_messages)?;
                let call_id = field("call_id").to_owned();
                let result = found(item.get_mut("tools").map(Value::take));
                found_messages.push(FoundMessage::Result { call_id, result });
            }
            // A reference to an item that only the service has.
            ("item_reference", _) => {}
            _ => reply.push(item),
        }
    }
    close(&mut reply, &mut found_messages)?;
    let (history, repairs) = History::repaired(found_messages);
    Ok(Transcript { system, history, repairs })
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
