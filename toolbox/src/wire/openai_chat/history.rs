//! Reads a transcript.

use serde_json::Value;

use super::response::ChatMessage;
use crate::call::{Content, ToolResult};
use crate::model::{FoundMessage, History};
use crate::wire::openai::{add_system, file_of, image_at, invalid, read, take_text};
use crate::wire::{Transcript, WireError};

pub(super) fn history(messages: &str) -> Result<Transcript, WireError> {
    let messages: Vec<ChatMessage> = read(messages)?;
    let mut system = None;
    let mut found = Vec::with_capacity(messages.len());
    for message in messages {
        match message.role.as_deref().unwrap_or_default() {
            "system" | "developer" => add_system(&mut system, &parts(message.content)?),
            "user" => found.push(FoundMessage::User(parts(message.content)?)),
            "assistant" => found.push(FoundMessage::Reply(message.gather()?.into_reply()?)),
            // The older role names no call; it answers the one call before it, which has no id
            // either.
            "tool" | "function" => {
                let result = ToolResult::kept(parts(message.content)?, None);
                let call_id = message.tool_call_id.unwrap_or_default();
                found.push(FoundMessage::Result { call_id, result });
            }
            role => return Err(invalid(format!("no message has the role {role:?}"))),
        }
    }
    let (history, repairs) = History::repaired(found);
    Ok(Transcript { system, history, repairs })
}

/// Reads the content of a message that is not the model's.
fn parts(content: Value) -> Result<Vec<Content>, WireError> {
    match content {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![Content::text(text)]),
        Value::Array(parts) => parts.into_iter().map(part).collect(),
        _ => Err(invalid("`content` is neither text nor a list of parts")),
    }
}

fn part(mut part: Value) -> Result<Content, WireError> {
    let text = |path: &str| part.pointer(path).and_then(Value::as_str);
    let kind = text("/type").unwrap_or_default().to_owned();
    let content = match kind.as_str() {
        "text" => take_text(&mut part, "text").map(Content::text),
        "image_url" => text("/image_url/url").map(image_at),
        "input_audio" => text("/input_audio/data").map(|data| {
            let mp3 = text("/input_audio/format") == Some("mp3");
            let mime = if mp3 { "audio/mpeg" } else { "audio/wav" };
            Content::audio_that_came(data.to_owned(), mime)
        }),
        "file" => part.get("file").map(file_of),
        other => Some(Content::text(format!("[part of type {other}]"))),
    };
    content.ok_or_else(|| invalid(format!("a part of type {kind:?} lacks what it is named after")))
}
