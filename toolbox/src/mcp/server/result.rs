//! Results of the box in the form of the protocol.

use rmcp::model::{
    Annotations, AudioContent, CallToolResult, ContentBlock, EmbeddedResource, Icon, IconTheme,
    ImageContent, MetaObject, Resource, ResourceContents, Role, TextContent,
};
use serde_json::{Map, Value};

use super::version::ClientVersion;
use crate::call::{Attributes, Audience, Content, ResourceLink, ToolResult};
use crate::definition;
use crate::validate::{self, ValidationLimits};

/// The key in `_meta` of a failed result for data that the output schema of its tool does not
/// describe.
const ERROR_DATA: &str = "toolbox/error";

/// The client's properties that determine the form of a result.
#[derive(Clone, Copy)]
pub(super) struct ResultFormat<'a> {
    pub(super) version: &'a ClientVersion,
    /// The output schema that the client received for the tool.
    pub(super) output_schema: Option<&'a Value>,
    /// The maximum size of a result, in bytes.
    pub(super) limit: usize,
}

pub(super) fn written(result: &ToolResult, format: ResultFormat<'_>) -> CallToolResult {
    let mut content = blocks(result, format.version);
    let mut meta = result.meta().cloned().unwrap_or_default();
    let mut structured = structure(result, format.output_schema.is_some());
    // A result without the promised structure matches no output schema, and a client that validates
    // it would blame the tool.
    let is_cut =
        format.output_schema.is_some() && result.omitted_bytes() > 0 && structured.is_none();
    if result.is_error() {
        if let Some(data) = structured.take() {
            // A client that validates the structure of a failure would report the mismatch instead
            // of the failure.
            if format.takes(&data) && fits(&data, format.output_schema) {
                structured = Some(data);
            } else {
                meta.insert(ERROR_DATA.to_owned(), data);
            }
        }
    } else {
        structured = structured.filter(|value| format.takes(value));
        // The protocol requires the structure as text as well, which doubles its size.
        if let Some(value) = &structured {
            let note = repeated(format.limit);
            if value.to_string().len() + result.text().len()
                > format.limit.saturating_add(note.len())
            {
                content = vec![ContentBlock::text(note)];
            }
        }
        if let Some(own) = result.user_text().filter(|text| *text != result.text() && !is_cut) {
            let for_user = Annotations::default().with_audience(vec![Role::User]);
            content.push(ContentBlock::Text(TextContent::new(own).with_annotations(for_user)));
        }
    }
    let is_error = result.is_error() || is_cut;
    let mut written =
        if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    written.structured_content = structured;
    written.meta = meta_object(Some(&meta));
    written
}

impl ResultFormat<'_> {
    /// Returns whether the client's version supports a structured result of this kind.
    fn takes(self, value: &Value) -> bool {
        self.version.is_modern() || self.version.has_structure() && value.is_object()
    }
}

fn fits(value: &Value, schema: Option<&Value>) -> bool {
    schema.is_none_or(|schema| {
        validate::conforms(&value.to_string(), schema, schema, "", &ValidationLimits::default())
            .is_empty()
    })
}

/// Returns the replacement for a text that repeats a structure, if the two together exceed the
/// limit.
fn repeated(limit: usize) -> String {
    format!(
        "[the result is in `structuredContent`; with its text as well it would be larger than `max_result_bytes`, {limit}]"
    )
}

/// Returns the result as JSON: its structured value, or its text if it has nothing else.
fn structure(result: &ToolResult, is_expected: bool) -> Option<Value> {
    if let Some(value) = result.structured_content() {
        return Some(value);
    }
    match result.content() {
        [Content::Text(text)] if is_expected && !result.is_error() => {
            serde_json::from_str(text).ok()
        }
        _ => None,
    }
}

fn blocks(result: &ToolResult, version: &ClientVersion) -> Vec<ContentBlock> {
    let says_nothing = |part: &Content| part.as_text().is_some_and(str::is_empty);
    let mut blocks: Vec<_> = if result.content().iter().all(says_nothing) {
        vec![ContentBlock::text(result.text())]
    } else {
        result.content().iter().map(|part| block(part, version)).collect()
    };
    if result.is_silent() {
        for annotations in blocks.iter_mut().filter_map(annotations_mut) {
            annotations.get_or_insert_default().audience = Some(vec![Role::Assistant]);
        }
    }
    blocks
}

fn block(part: &Content, version: &ClientVersion) -> ContentBlock {
    let attributes = part.attributes();
    let (annotations, meta) = (annotations_of(attributes), meta_object(attributes.meta()));
    match part {
        Content::Text(own) => {
            let mut block = TextContent::new(&**own);
            (block.annotations, block.meta) = (annotations, meta);
            ContentBlock::Text(block)
        }
        Content::Image(media) => {
            let mut block = ImageContent::new(media.data.as_str(), media.mime_type.as_str());
            (block.annotations, block.meta) = (annotations, meta);
            ContentBlock::Image(block)
        }
        Content::Audio(media) if version.has_audio() => {
            let mut block = AudioContent::new(media.data.as_str(), media.mime_type.as_str());
            (block.annotations, block.meta) = (annotations, meta);
            ContentBlock::Audio(block)
        }
        Content::Resource(resource) => {
            let mut block = EmbeddedResource::new(document(resource));
            (block.annotations, block.meta) = (annotations, meta);
            ContentBlock::Resource(block)
        }
        Content::ResourceLink(link) if version.has_structure() => {
            let mut block = resource_link(link, version);
            (block.annotations, block.meta) = (annotations, meta);
            ContentBlock::ResourceLink(block)
        }
        // Older clients may refuse a whole result for one part of an unknown kind.
        Content::Audio(media) => {
            let text =
                format!("[audio of type {}, which this version of MCP lacks]", media.mime_type);
            ContentBlock::text(text)
        }
        Content::ResourceLink(link) => ContentBlock::text(link.to_string()),
    }
}

fn annotations_mut(block: &mut ContentBlock) -> Option<&mut Option<Annotations>> {
    match block {
        ContentBlock::Text(block) => Some(&mut block.annotations),
        ContentBlock::Image(block) => Some(&mut block.annotations),
        ContentBlock::Audio(block) => Some(&mut block.annotations),
        ContentBlock::Resource(block) => Some(&mut block.annotations),
        ContentBlock::ResourceLink(block) => Some(&mut block.annotations),
        _ => None,
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the SDK has single precision here")]
fn annotations_of(attributes: &Attributes) -> Option<Annotations> {
    let own = attributes.annotations()?;
    let mut annotations = Annotations::default();
    let role = |audience: &Audience| match audience {
        Audience::User => Role::User,
        Audience::Assistant => Role::Assistant,
    };
    annotations.audience = own.audience.as_ref().map(|readers| readers.iter().map(role).collect());
    annotations.priority = own.priority.map(|priority| priority as f32);
    annotations.last_modified.clone_from(&own.last_modified);
    Some(annotations)
}

pub(super) fn meta_object(meta: Option<&Map<String, Value>>) -> Option<MetaObject> {
    meta.filter(|meta| !meta.is_empty()).cloned().map(MetaObject)
}

pub(super) fn icons(own: &[definition::Icon]) -> Option<Vec<Icon>> {
    let icon = |own: &definition::Icon| {
        let mut icon = Icon::new(own.src.as_str());
        icon.mime_type.clone_from(&own.mime_type);
        icon.sizes.clone_from(&own.sizes);
        icon.theme = own.theme.map(|theme| match theme {
            definition::IconTheme::Light => IconTheme::Light,
            definition::IconTheme::Dark => IconTheme::Dark,
        });
        icon
    };
    (!own.is_empty()).then(|| own.iter().map(icon).collect())
}

fn resource_link(own: &ResourceLink, version: &ClientVersion) -> Resource {
    let mut link = Resource::new(own.uri.as_str(), own.name.as_str());
    link.title.clone_from(&own.title);
    link.description.clone_from(&own.description);
    link.mime_type.clone_from(&own.mime_type);
    link.size = own.size;
    link.icons = icons(&own.icons).filter(|_| version.has_icons());
    link
}

fn document(resource: &crate::call::Resource) -> ResourceContents {
    let (uri, mime_type) = (resource.uri.clone(), resource.mime_type.clone());
    let meta = meta_object(resource.meta.as_ref());
    match &resource.blob {
        Some(blob) => {
            ResourceContents::BlobResourceContents { uri, mime_type, blob: blob.clone(), meta }
        }
        None => ResourceContents::TextResourceContents {
            uri,
            mime_type,
            text: resource.text.clone().unwrap_or_default(),
            meta,
        },
    }
}
