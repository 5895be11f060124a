//! Reads a transcript in the form of Gemini Interactions.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::response::{StepObject, kind, part, step};
use crate::call::{Content, ResourceContents, ToolResult};
use crate::model::{FoundMessage, History, Part, Reply};
use crate::wire::lenient;
use crate::wire::{Transcript, WireError};

pub(super) fn history(steps: &str) -> Result<Transcript, WireError> {
    let mut found = Vec::new();
    // The parts of one reply, which this form groups by nothing but their order.
    let mut reply: Vec<Part> = Vec::new();
    for raw in serde_json::from_str::<Vec<&RawValue>>(steps)? {
        let Some((step, arguments)) = step(raw)? else { continue };
        let message = match kind(&step) {
            "user_input" => FoundMessage::User(contents(step.get("content"))?),
            // A list of contents is one message of the user.
            "text" | "image" | "audio" | "document" | "video" => {
                FoundMessage::User(vec![content(&Value::Object(step))?])
            }
            "function_result" => result(raw)?,
            _ => {
                reply.extend(part(step, arguments)?);
                continue;
            }
        };
        close(&mut reply, &mut found);
        found.push(message);
    }
    close(&mut reply, &mut found);
    let (history, repairs) = History::repaired(found);
    Ok(Transcript { system: None, history, repairs })
}

fn close(reply: &mut Vec<Part>, found: &mut Vec<FoundMessage>) {
    if !reply.is_empty() {
        found.push(FoundMessage::Reply(Reply::new(std::mem::take(reply))));
    }
}

#[derive(Deserialize)]
struct ResultIn<'a> {
    #[serde(default, deserialize_with = "lenient::id")]
    call_id: Option<String>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    is_error: Option<bool>,
}

fn result(raw: &RawValue) -> Result<FoundMessage, WireError> {
    let ResultIn { call_id, result, is_error } = serde_json::from_str(raw.get())?;
    let failure = is_error.unwrap_or(false).then_some("tool.failed");
    let text = result.map_or("null", RawValue::get);
    let result = match text.as_bytes().first() {
        Some(b'{') if failure.is_none() => ToolResult::structured(text.to_owned()),
        Some(b'"') => {
            ToolResult::kept(vec![Content::text(serde_json::from_str::<String>(text)?)], failure)
        }
        Some(b'[') => ToolResult::kept(contents(Some(&serde_json::from_str(text)?))?, failure),
        _ if text == "null" => ToolResult::kept(vec![Content::text("")], failure),
        _ => ToolResult::kept(vec![Content::text(text)], failure),
    };
    Ok(FoundMessage::Result { call_id: call_id.unwrap_or_default(), result })
}

/// Reads a list of contents, or a text in place of one.
fn contents(list: Option<&Value>) -> Result<Vec<Content>, WireError> {
    match list {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![Content::text(text.as_str())]),
        Some(Value::Array(list)) => {
            list.iter().filter(|content| !content.is_null()).map(content).collect()
        }
        Some(_) => Err(WireError::Invalid("`content` is neither text nor a list".into())),
    }
}

/// Reads a content; one of another kind becomes its JSON text.
fn content(value: &Value) -> Result<Content, WireError> {
    let empty = StepObject::new();
    let fields = value.as_object().unwrap_or(&empty);
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = kind(fields);
    Ok(match (kind, text("mime_type"), text("data")) {
        ("", ..) => return Err(WireError::Invalid("a content has no `type`".into())),
        ("text", ..) => Content::text(text("text").unwrap_or_default()),
        ("image", Some(mime), Some(data)) => Content::image_that_came(data, &mime),
        ("audio", Some(mime), Some(data)) => Content::audio_that_came(data, &mime),
        ("document" | "video", mime_type @ Some(_), blob @ Some(_)) => {
            Content::Resource(Box::new(ResourceContents {
                mime_type,
                blob,
                ..ResourceContents::default()
            }))
        }
        _ => match text("uri") {
            Some(uri) => Content::text(format!("[{kind} at {uri}]")),
            None => Content::text(value.to_string()),
        },
    })
}
