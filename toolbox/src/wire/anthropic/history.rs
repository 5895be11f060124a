//! Reads a transcript in the form of Anthropic Messages.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::response::{BlockType, part};
use crate::call::{Content, ResourceContents, ToolResult};
use crate::model::{FoundMessage, History, Part, Reply};
use crate::wire::lenient;
use crate::wire::{Transcript, WireError};

pub(super) fn history(messages: &str) -> Result<Transcript, WireError> {
    let messages: Vec<MessageIn<'_>> = serde_json::from_str(messages)?;
    let mut found = Vec::with_capacity(messages.len());
    let mut system: Vec<String> = Vec::new();
    for message in messages {
        let blocks = blocks(message.content)?;
        match message.role.as_str() {
            "assistant" => {
                let parts: Result<Vec<Option<Part>>, WireError> =
                    blocks.into_iter().map(MessagePiece::part).collect();
                let parts = parts?.into_iter().flatten().collect();
                found.push(FoundMessage::Reply(Reply::new(parts)));
            }
            "user" => user(blocks, &mut found)?,
            "system" => {
                for block in blocks {
                    if let Some(Content::Text(text)) = block.content()? {
                        system.push(text.into_string());
                    }
                }
            }
            role => return Err(WireError::Invalid(format!("no message has the role {role:?}"))),
        }
    }
    let (history, repairs) = History::repaired(found);
    let system = (!system.is_empty()).then(|| system.join("\n"));
    Ok(Transcript { system, history, repairs })
}

#[derive(Deserialize)]
struct MessageIn<'a> {
    role: String,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// A piece of a message: a text without a block around it, or a block.
enum MessagePiece<'a> {
    Text(String),
    Block(&'a RawValue),
}

/// Returns the pieces of a content: a text, a list of blocks, or nothing.
fn blocks(content: Option<&RawValue>) -> Result<Vec<MessagePiece<'_>>, WireError> {
    let Some(content) = content else { return Ok(Vec::new()) };
    Ok(if content.get().starts_with('"') {
        vec![MessagePiece::Text(serde_json::from_str(content.get())?)]
    } else {
        let blocks: Option<Vec<&RawValue>> = serde_json::from_str(content.get())?;
        let blocks = blocks.into_iter().flatten();
        blocks.filter(|block| block.get() != "null").map(MessagePiece::Block).collect()
    })
}

fn user(blocks: Vec<MessagePiece<'_>>, found: &mut Vec<FoundMessage>) -> Result<(), WireError> {
    let mut contents = Vec::new();
    for block in blocks {
        if block.kind()? == "tool_result" {
            found.push(block.result()?);
        } else {
            contents.extend(block.content()?);
        }
    }
    if !contents.is_empty() {
        found.push(FoundMessage::User(contents));
    }
    Ok(())
}

#[derive(Deserialize)]
struct ToolResultIn<'a> {
    #[serde(default, deserialize_with = "lenient::id")]
    tool_use_id: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
}

#[derive(Deserialize)]
struct BlockIn {
    text: Option<String>,
    source: Option<SourceIn>,
    title: Option<String>,
}

#[derive(Deserialize)]
struct SourceIn {
    #[serde(rename = "type")]
    kind: Option<String>,
    media_type: Option<String>,
    data: Option<String>,
    url: Option<String>,
}

impl MessagePiece<'_> {
    fn kind(&self) -> Result<String, WireError> {
        Ok(match self {
            Self::Text(_) => "text".to_owned(),
            Self::Block(block) => serde_json::from_str::<BlockType>(block.get())?.kind,
        })
    }

    fn part(self) -> Result<Option<Part>, WireError> {
        match self {
            Self::Text(text) => Ok(Some(Part::text(text))),
            Self::Block(block) => part(block),
        }
    }

    fn result(self) -> Result<FoundMessage, WireError> {
        let Self::Block(block) = self else { return Err(WireError::Invalid("no block".into())) };
        let ToolResultIn { tool_use_id, content, is_error } = serde_json::from_str(block.get())?;
        let mut parts = Vec::new();
        let mut references = Vec::new();
        for piece in blocks(content)? {
            references.extend(piece.reference());
            parts.extend(piece.content()?);
        }
        if parts.is_empty() {
            parts.push(Content::text(""));
        }
        let failure = is_error.unwrap_or(false).then_some("tool.failed");
        Ok(FoundMessage::Result {
            call_id: tool_use_id.unwrap_or_default(),
            result: ToolResult::kept(parts, failure).with_references(references),
        })
    }

    /// Returns the name of the tool that a block of a search refers to.
    fn reference(&self) -> Option<String> {
        #[derive(Deserialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum SearchResultIn {
            ToolReference { tool_name: String },
        }
        let Self::Block(block) = self else { return None };
        let SearchResultIn::ToolReference { tool_name } = serde_json::from_str(block.get()).ok()?;
        Some(tool_name)
    }

    /// Returns the content of a block; a block of another kind becomes its JSON text.
    fn content(self) -> Result<Option<Content>, WireError> {
        let kind = self.kind()?;
        let block = match self {
            Self::Text(text) => return Ok(Some(Content::text(text))),
            Self::Block(block) => block,
        };
        if !matches!(kind.as_str(), "text" | "image" | "document") {
            return Ok(Some(Content::text(block.get())));
        }
        let Ok(shown) = serde_json::from_str::<BlockIn>(block.get()) else {
            // A document may be made of other blocks.
            let _: Value = serde_json::from_str(block.get())?;
            return Ok(Some(Content::text(block.get())));
        };
        if kind == "text" {
            return Ok(shown.text.map(Content::text));
        }
        let Some(source) = shown.source else { return Ok(None) };
        let uri = source.url.or(shown.title).unwrap_or_default();
        let mime_type = source.media_type;
        Ok(Some(match (kind.as_str(), source.kind.as_deref(), source.data) {
            ("image", Some("base64"), Some(data)) => {
                let mime_type = mime_type.unwrap_or_else(|| "image/png".into());
                Content::image_that_came(data, &mime_type)
            }
            ("document", Some("base64"), Some(data)) => {
                Content::Resource(Box::new(ResourceContents {
                    uri,
                    mime_type,
                    blob: Some(data),
                    ..ResourceContents::default()
                }))
            }
            ("document", Some("text"), Some(text)) => {
                Content::Resource(Box::new(ResourceContents {
                    uri,
                    mime_type,
                    text: Some(text),
                    ..ResourceContents::default()
                }))
            }
            _ if !uri.is_empty() => Content::text(format!("[{kind} at {uri}]")),
            _ => Content::text(block.get()),
        }))
    }
}
