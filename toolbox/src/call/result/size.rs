//! The limit on the size of a result, in each of its forms.
//!
//! Annotations and `_meta`, which no model reads, go first. Texts are cut, and a line reports it.
//! Parts that cannot be cut (images, audio, documents, links, JSON) are whole in every success: if
//! they do not fit, the call fails.
//!
//! Texts count their bytes as their reader has them, without the escapes of JSON; each part after
//! the first counts the braces and keys around it too. So many small parts cannot exceed the limit.

use std::sync::Arc;

use serde_json::Value;

use super::ResultParts;
use crate::call::chain;
use crate::call::{Attributes, Content, FailureKind, ToolError, ToolResult};
use crate::definition::ToolDefinition;
use crate::text::{ceil_boundary, floor_boundary};

/// The bytes of JSON around a part that is text: `,{"type":"text","text":""}`.
const TEXT: usize = 26;
/// The bytes of JSON around an image or a sound: `,{"type":"image","data":"","mimeType":""}`.
const MEDIA: usize = 41;
/// The bytes of JSON around a document: `,{"type":"resource","resource":{"uri":""}}`.
const DOCUMENT: usize = 42;
/// The bytes of JSON around a link, beside the object of its fields: `,"type":"resource_link"`.
const LINK: usize = 23;
/// The most bytes of JSON around a field of a document: `,"mimeType":""`.
const FIELD: usize = 14;
/// The bytes of JSON around an entry of a list of texts.
const ENTRY: usize = 3;
/// The bytes of the annotation on a result that only the model may read:
/// `,"annotations":{"audience":["assistant"]}`.
const AUDIENCE: usize = 41;

impl ToolResult {
    /// Cuts the texts of a result of `tool` to `limit` bytes, and adds a line with the number of
    /// missing bytes.
    ///
    /// Parts that cannot be cut take their bytes first, and stay; a success becomes a failure if
    /// they alone are too large. Of the texts, the first stay whole; of the one that does not fit,
    /// the head and the tail stay; those after it are dropped. A failure keeps its text and may
    /// lose parts that cannot be cut. A success never gets longer by this.
    #[allow(clippy::inline_always, reason = "most results are small, and need no call")]
    #[inline(always)]
    pub(crate) fn fit<'t>(&mut self, limit: usize, tool: impl FnOnce() -> &'t ToolDefinition) {
        // Most results are small.
        if self.extra.is_none()
            && let ResultParts::One(Content::Text(text)) = &self.content
            && text.len() + text.attributes.size() <= limit
        {
            return;
        }
        self.fit_all(limit, tool());
    }

    #[cold]
    fn fit_all(&mut self, limit: usize, tool: &ToolDefinition) {
        let around = if self.flags.silent { AUDIENCE } else { 0 };
        let structure = self.structure_bytes(limit);
        let mut omitted = 0;
        if structure + size_of(self.content(), around) > limit {
            omitted += self.drop_attributes();
        }
        let whole = structure + self.whole_bytes(around, structure, tool);
        if whole > limit && !self.flags.error {
            return self.refuse_size(whole, limit, tool);
        }
        self.fit_source(limit);
        // Names of found tools are short, and more useful than the end of a text.
        let (names, missing) = self.fit_references((limit / 4).min(limit.saturating_sub(whole)));
        omitted += missing;
        let mut left = limit.saturating_sub(names);
        match left.checked_sub(structure) {
            Some(rest) => left = rest,
            None => {
                omitted += self.drop_structure();
            }
        }
        let size = size_of(self.content(), around);
        // A text that is cut says other than a structure beside it; the data of a failure does not
        // repeat its text.
        if size > left && self.has_structure() && !self.flags.error {
            if tool.output_schema.is_some() {
                return self.refuse_size(structure + size, limit, tool);
            }
            left += structure;
            omitted += self.drop_structure();
        }
        if size > left {
            let parts = self.content.take();
            let (kept, missing) = Cut { left, around, limit }.shortened(parts);
            self.content = ResultParts::from(kept);
            omitted += missing;
            self.flags.structured = false;
            self.flags.json = false;
        }
        left = left.saturating_sub(size);
        let Some(extra) = &mut self.extra else {
            if omitted > 0 {
                self.extra().omitted_bytes = omitted;
            }
            return;
        };
        if !extra.meta.is_empty() {
            let size = as_json(Some(&extra.meta));
            if let Some(rest) = left.checked_sub(size) {
                left = rest;
            } else {
                extra.meta.clear();
                omitted += size;
            }
        }
        if let Some(text) = &mut extra.for_user
            && text.len() > left
        {
            let parts = vec![Content::text(std::mem::take(text))];
            let (short, missing) = Cut { left, around: 0, limit }.shortened(parts);
            *text = short.into_iter().find_map(text_of).unwrap_or_default();
            omitted += missing;
        }
        extra.omitted_bytes += omitted;
    }

    /// Returns the number of bytes in parts that cannot be cut, besides the structured result.
    fn whole_bytes(&self, around: usize, structure: usize, tool: &ToolDefinition) -> usize {
        // If a tool has an output schema, its text is JSON of that schema; a text that repeats a
        // structure is JSON too.
        let is_json = self.flags.structured
            || self.flags.json
            || tool.output_schema.is_some()
            || self.has_structure();
        match self.content() {
            [Content::Text(text)] if is_json && structure == 0 => text.len(),
            parts => media_of(parts, around),
        }
    }

    /// Returns the bytes that the limit counts, without those of attributes, which are dropped
    /// first.
    pub(crate) fn counted_bytes(&self, limit: usize) -> usize {
        let attributes = |part: &Content| {
            let meta = match part {
                Content::Resource(resource) => as_json(resource.meta.as_ref()),
                _ => 0,
            };
            part.attributes().size() + meta
        };
        let omitted: usize = self.content().iter().map(attributes).sum();
        let around = if self.flags.silent { AUDIENCE } else { 0 };
        self.structure_bytes(limit) + size_of(self.content(), around) - omitted
    }

    fn has_structure(&self) -> bool {
        self.extra.as_ref().is_some_and(|extra| extra.structured.is_some())
    }

    /// Returns the size of a structured result beside the parts. A structure that a text repeats
    /// counts once, as that text; it is compared only where the two exceed the limit.
    fn structure_bytes(&self, limit: usize) -> usize {
        let Some(value) = self.extra.as_ref().and_then(|extra| extra.structured.as_ref()) else {
            return 0;
        };
        let bytes = as_json(Some(value));
        let texts = || self.content().iter().filter_map(Content::as_text);
        let is_repeated = bytes + texts().map(str::len).sum::<usize>() > limit
            && texts().any(|text| serde_json::from_str(text).is_ok_and(|of: Value| of == *value));
        if is_repeated { 0 } else { bytes }
    }

    /// Removes the annotations and the `_meta` of all parts; returns the number of their bytes.
    fn drop_attributes(&mut self) -> usize {
        let mut omitted = 0;
        for part in self.content.as_mut_slice() {
            let before = payload(part);
            *part.attributes_mut() = Attributes::default();
            if let Content::Resource(resource) = part {
                resource.meta = None;
            }
            omitted += before - payload(part);
        }
        omitted
    }

    /// Removes the structured result; returns the number of its bytes.
    fn drop_structure(&mut self) -> usize {
        let structured = self.extra.as_mut().and_then(|extra| extra.structured.take());
        as_json(structured.as_ref())
    }

    /// Replaces a result that is too large and cannot be cut by a failure.
    fn refuse_size(&mut self, whole: usize, limit: usize, tool: &ToolDefinition) {
        let name = &tool.name;
        tracing::warn!(tool = &**name, bytes = whole, limit, "a result was larger than its limit");
        let text = format!(
            "tool `{name}` ran, and its result is too large: {whole} bytes that cannot be cut (images, audio, documents or JSON), \
             and the limit is {limit}; ask it for less, or have the limit raised (`ToolBoxBuilder::max_result_bytes`, \
             `\"maxResultBytes\"` in toolbox.jsonc)"
        );
        let mut result = Self::refusal(FailureKind::ResultTooLarge, text);
        result.call_id = std::mem::take(&mut self.call_id);
        let extra = result.extra();
        extra.omitted_bytes = whole;
        if let Some(before) = &mut self.extra {
            extra.repairs = std::mem::take(&mut before.repairs);
            extra.edited = before.edited.take();
        }
        *self = result;
    }
}

impl ToolResult {
    /// Keeps references of at most `limit` bytes; returns the number of their bytes, and of those
    /// left out.
    fn fit_references(&mut self, limit: usize) -> (usize, usize) {
        let Some(extra) = &mut self.extra else { return (0, 0) };
        let mut left = limit;
        let fits = |name: &&String| {
            let rest = left.checked_sub(name.len() + ENTRY);
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let kept = extra.references.iter().take_while(fits).count();
        let omitted = extra.references.drain(kept..).map(|name| name.len()).sum();
        (limit - left, omitted)
    }

    /// Bounds the underlying error if it is used in place of a text.
    fn fit_source(&mut self, limit: usize) {
        let Some(source) = self.source().filter(|_| self.content().len() <= 1) else { return };
        if self.content().iter().filter_map(Content::as_text).any(|text| !text.is_empty()) {
            return;
        }
        let told = chain(source.as_ref());
        if told.len() <= limit {
            return;
        }
        match self.content() {
            [] | [Content::Text(_)] => self.content = ResultParts::One(Content::text(told)),
            _ => {
                let cut = Cut { left: limit, around: 0, limit };
                let (short, missing) = cut.shortened(vec![Content::text(told)]);
                let short = short.into_iter().find_map(text_of).unwrap_or_default();
                let extra = self.extra();
                extra.source = Some(Arc::new(ToolError::reported(short)));
                extra.omitted_bytes += missing;
            }
        }
    }
}

fn text_of(part: Content) -> Option<String> {
    match part {
        Content::Text(text) => Some(text.into_string()),
        _ => None,
    }
}

fn is_text(part: &Content) -> bool {
    part.as_text().is_some()
}

fn payload(part: &Content) -> usize {
    let own = match part {
        Content::Text(text) => text.len(),
        Content::Image(media) | Content::Audio(media) => media.data.len() + media.mime_type.len(),
        Content::Resource(resource) => {
            let optional = [&resource.mime_type, &resource.text, &resource.blob];
            let optional = optional.into_iter().flatten().map(String::len);
            resource.uri.len() + optional.sum::<usize>() + as_json(resource.meta.as_ref())
        }
        // Each field may be of any length, so all are counted as they are written.
        Content::ResourceLink(link) => as_json(Some(link)),
    };
    own + part.attributes().size()
}

/// Returns the length of a value as JSON, and 0 for `None`.
fn as_json<T: serde::Serialize>(value: Option<&T>) -> usize {
    value.and_then(|value| serde_json::to_string(value).ok()).map_or(0, |text| text.len())
}

fn around(part: &Content) -> usize {
    match part {
        Content::Text(_) => TEXT,
        Content::Image(_) | Content::Audio(_) => MEDIA,
        Content::Resource(resource) => {
            let optional = [&resource.mime_type, &resource.text, &resource.blob];
            let count =
                optional.into_iter().flatten().count() + usize::from(resource.meta.is_some());
            DOCUMENT + count * FIELD
        }
        Content::ResourceLink(_) => LINK,
    }
}

/// Returns the bytes that count as left out with a part: at least one.
fn len(part: &Content) -> usize {
    part.len().max(1)
}

/// Returns the size of each part; the first is counted without the JSON around it.
fn sizes(parts: &[Content], more: usize) -> impl Iterator<Item = (&Content, usize)> {
    parts.iter().enumerate().map(move |(at, part)| {
        let own = if at == 0 { 0 } else { around(part) + more };
        (part, own + payload(part))
    })
}

fn size_of(parts: &[Content], more: usize) -> usize {
    sizes(parts, more).map(|(_, size)| size).sum()
}

/// Returns the size of the parts that are no text.
fn media_of(parts: &[Content], more: usize) -> usize {
    sizes(parts, more).filter(|(part, _)| !is_text(part)).map(|(_, size)| size).sum()
}

/// The limits to which parts are cut.
#[derive(Clone, Copy)]
struct Cut {
    /// The bytes that are left for further parts.
    left: usize,
    /// The bytes around each part besides its own keys.
    around: usize,
    /// The limit of the whole result, to be named.
    limit: usize,
}

impl Cut {
    /// Returns parts of at most `left` bytes with a line about the missing ones, and the number of
    /// missing bytes.
    fn shortened(self, parts: Vec<Content>) -> (Vec<Content>, usize) {
        let size = size_of(&parts, self.around);
        let mut media = media_of(&parts, self.around);
        let bytes: usize = parts.iter().map(len).sum();
        // An image cannot be cut, so all of them stay, or none does: then the call has failed
        // already.
        let parts: Vec<Content> = if media > self.left {
            media = 0;
            parts.into_iter().filter(is_text).collect()
        } else {
            parts
        };
        // If the line is longer than the text it replaces, less is kept, with a shorter line.
        for note in [Note::Whole, Note::Short, Note::None] {
            let mut room = self.left - media;
            loop {
                let (kept, missing) = self.cut(&parts, bytes, room, note);
                let over = size_of(&kept, self.around).saturating_sub(size);
                if over == 0 {
                    return (kept, missing);
                }
                if room == 0 {
                    break;
                }
                room = room.saturating_sub(over);
            }
        }
        (parts.into_iter().filter(|part| !is_text(part)).collect(), bytes)
    }

    /// Keeps `room` bytes of texts, and all parts that are not text. `bytes` is the original size.
    fn cut(
        &self,
        parts: &[Content],
        bytes: usize,
        room: usize,
        note: Note,
    ) -> (Vec<Content>, usize) {
        let mut left = room;
        let mut kept = Vec::new();
        // The part whose text is cut, and the rest of that text.
        let mut short = None;
        let mut whole = 0;
        for (part, size) in sizes(parts, self.around) {
            match part {
                Content::Text(text) if short.is_none() && size > left => {
                    let room = left.saturating_sub(size - text.len());
                    short = Some((kept.len(), if room > 0 { ends(text, room) } else { ("", "") }));
                    kept.push(Content::text(String::new()));
                }
                Content::Text(_) if short.is_some() => {}
                part => {
                    left -= if is_text(part) { size } else { 0 };
                    whole += len(part);
                    kept.push(part.clone());
                }
            }
        }
        let (at, (head, tail)) = short.unwrap_or_else(|| {
            kept.push(Content::text(String::new()));
            (kept.len() - 1, ("", ""))
        });
        let missing = bytes - whole - head.len() - tail.len();
        let note = note.of(missing, self.limit);
        kept[at] = Content::text(match (head, tail) {
            ("", "") => note,
            _ => format!("{head}\n{note}\n{tail}"),
        });
        (kept, missing)
    }
}

/// The detail of the note on missing parts.
#[derive(Clone, Copy)]
enum Note {
    Whole,
    Short,
    None,
}

impl Note {
    fn of(self, bytes: usize, limit: usize) -> String {
        match self {
            Self::Whole => {
                format!(
                    "[{bytes} bytes left out: `max_result_bytes`, the limit of a result, is {limit}]"
                )
            }
            Self::Short => "[cut]".to_owned(),
            Self::None => String::new(),
        }
    }
}

/// Returns the head and the tail of a text that take `room` bytes together, three quarters and one.
fn ends(text: &str, room: usize) -> (&str, &str) {
    let (head, rest) = text.split_at(floor_boundary(text, room - room / 4));
    (head, &rest[ceil_boundary(rest, rest.len().saturating_sub(room / 4))..])
}
