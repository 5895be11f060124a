//! A result of the box as the protocol writes it.

use rmcp::model::{
    Annotations, AudioContent, CallToolResult, ContentBlock, EmbeddedResource, ImageContent,
    ResourceContents, Role, TextContent,
};
use serde_json::Value;

use crate::content::{Content, Resource};
use crate::result::ToolResult;

/// What of a result depends on who reads it.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    /// The client takes structured results of any kind, not only objects.
    pub(super) any_structure: bool,
    /// The tool says that its results have a structure.
    pub(super) expects_structure: bool,
    /// How many bytes a result may have.
    pub(super) limit: usize,
}

pub(super) fn written(result: &ToolResult, reader: Reader) -> CallToolResult {
    let mut content = blocks(result);
    if result.is_error() {
        return CallToolResult::error(content);
    }
    let structured = reader.expects_structure.then(|| structure(result)).flatten();
    let structured = structured.filter(|value| reader.any_structure || value.is_object());
    // The protocol wants the structure as text as well, which makes two of it.
    if let Some(value) = &structured {
        let note = repeated(reader.limit);
        if value.to_string().len() + result.text().len() > reader.limit.saturating_add(note.len()) {
            content = vec![text(note, None)];
        }
    }
    if let Some(text) = result.user_text().filter(|text| *text != result.text()) {
        content.push(ContentBlock::Text(TextContent::new(text).with_annotations(only(Role::User))));
    }
    let mut written = CallToolResult::success(content);
    written.structured_content = structured;
    written
}

/// Returns what stands in the place of a text that repeats a structure, where the two together are too large.
fn repeated(limit: usize) -> String {
    format!(
        "[the result is in `structuredContent`; with its text as well it would be larger than `max_result_bytes`, {limit}]"
    )
}

/// Returns the result as JSON: as the tool gave it, or, where it gave nothing but text, what the text says.
fn structure(result: &ToolResult) -> Option<Value> {
    if let Some(value) = result.structured_content() {
        return Some(value);
    }
    match result.content() {
        [Content::Text(text)] => serde_json::from_str(text).ok(),
        _ => None,
    }
}

fn blocks(result: &ToolResult) -> Vec<ContentBlock> {
    let told = if result.is_silent() { Some(only(Role::Assistant)) } else { None };
    if result.content().iter().all(Content::is_empty) {
        return vec![text(result.text(), told)];
    }
    let block = |part: &Content| match part {
        Content::Text(own) => text(own.as_str(), told.clone()),
        Content::Image(media) => {
            let mut image = ImageContent::new(media.data.as_str(), media.mime_type.as_str());
            image.annotations.clone_from(&told);
            ContentBlock::Image(image)
        }
        Content::Audio(media) => {
            let mut audio = AudioContent::new(media.data.as_str(), media.mime_type.as_str());
            audio.annotations.clone_from(&told);
            ContentBlock::Audio(audio)
        }
        Content::Resource(resource) => {
            let mut embedded = EmbeddedResource::new(document(resource));
            embedded.annotations.clone_from(&told);
            ContentBlock::Resource(embedded)
        }
    };
    result.content().iter().map(block).collect()
}

fn text(text: impl Into<String>, told: Option<Annotations>) -> ContentBlock {
    let mut block = TextContent::new(text);
    block.annotations = told;
    ContentBlock::Text(block)
}

fn only(role: Role) -> Annotations {
    Annotations::default().with_audience(vec![role])
}

fn document(resource: &Resource) -> ResourceContents {
    let (uri, mime_type) = (resource.uri.clone(), resource.mime_type.clone());
    match &resource.blob {
        Some(blob) => ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob: blob.clone(),
            meta: None,
        },
        None => ResourceContents::TextResourceContents {
            uri,
            mime_type,
            text: resource.text.clone().unwrap_or_default(),
            meta: None,
        },
    }
}
