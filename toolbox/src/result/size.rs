//! The limit on the size of a result, in whatever form somebody reads it.
//!
//! Texts count their bytes as their reader has them, without the escapes of JSON; each part after the first counts the braces
//! and keys around it too. So many small parts are no way past the limit.

use std::sync::Arc;

use super::{Parts, ToolResult};
use crate::content::{Attributes, Content};
use crate::error::{ToolError, chain};

/// What JSON writes around a part that is text: `,{"type":"text","text":""}`.
const TEXT: usize = 26;
/// What JSON writes around an image or a sound: `,{"type":"image","data":"","mimeType":""}`.
const MEDIA: usize = 41;
/// What JSON writes around a document: `,{"type":"resource","resource":{"uri":""}}`.
const DOCUMENT: usize = 42;
/// What JSON writes around a link, beside the object of its fields: `,"type":"resource_link"`.
const LINK: usize = 23;
/// What JSON writes around a field of a document, at most: `,"mimeType":""`.
const FIELD: usize = 14;
/// What JSON writes around an entry of a list of texts.
const ENTRY: usize = 3;
/// What a part says of a result that only the model may read: `,"annotations":{"audience":["assistant"]}`.
const AUDIENCE: usize = 41;

impl ToolResult {
    /// Cuts the result to `limit` bytes, and says how much is missing in one line more.
    ///
    /// The first parts stay whole; of the text that does not fit, the head and the tail stay; what comes after it goes. The
    /// structured result and `_meta` stay whole or not at all. A result never gets longer by this.
    #[inline]
    pub(crate) fn fit(&mut self, limit: usize) {
        // Most results are small, whatever they hold.
        if self.extra.is_none()
            && let Parts::One(Content::Text(text)) = &self.content
            && text.len() + text.attributes.size() <= limit
        {
            return;
        }
        self.fit_all(limit);
    }

    #[cold]
    fn fit_all(&mut self, limit: usize) {
        self.fit_source(limit);
        let around = if self.flags.silent { AUDIENCE } else { 0 };
        // Names of what was found are short, and worth more than the end of a text.
        let (names, mut omitted) = self.fit_references(limit / 4);
        let limit = limit.saturating_sub(names);
        let size = size_of(self.content(), around);
        let mut left = limit.saturating_sub(size);
        if size > limit {
            let parts = match std::mem::replace(&mut self.content, Parts::Many(Vec::new())) {
                Parts::One(part) => vec![part],
                Parts::Many(parts) => parts,
            };
            let (mut kept, missing) = shortened(&parts, limit, around);
            self.content = match kept.pop() {
                Some(only) if kept.is_empty() => Parts::One(only),
                last => {
                    kept.extend(last);
                    Parts::Many(kept)
                }
            };
            omitted += missing;
            self.flags.structured = false;
            left = 0;
        }
        let Some(extra) = &mut self.extra else {
            if omitted > 0 {
                self.extra().omitted_bytes = omitted;
            }
            return;
        };
        if let Some(value) = &extra.structured {
            let size = value.to_string().len();
            match left.checked_sub(size) {
                Some(rest) => left = rest,
                None => {
                    extra.structured = None;
                    omitted += size;
                    left = 0;
                }
            }
        }
        if !extra.meta.is_empty() {
            let size = as_json(Some(&extra.meta));
            match left.checked_sub(size) {
                Some(rest) => left = rest,
                None => {
                    extra.meta.clear();
                    omitted += size;
                    left = 0;
                }
            }
        }
        if let Some(text) = &mut extra.for_user
            && text.len() > left
        {
            let (short, missing) = shortened(&[Content::text(std::mem::take(text))], left, 0);
            *text = short.into_iter().find_map(text_of).unwrap_or_default();
            omitted += missing;
        }
        extra.omitted_bytes += omitted;
    }
}

impl ToolResult {
    /// Keeps references of at most `limit` bytes; returns how many bytes they have, and how many were left out.
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

    /// Bounds the underlying error where it is read in the place of a text.
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
            [] | [Content::Text(_)] => self.content = Parts::One(Content::text(told)),
            _ => {
                let (short, missing) = shortened(&[Content::text(told)], limit, 0);
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

/// Returns how long a value is as JSON, and 0 where there is none.
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

/// Returns what counts as left out where a part is: an empty one is something as well.
fn len(part: &Content) -> usize {
    part.len().max(1)
}

/// Returns the size of parts, without what stands around the first.
fn size_of(parts: &[Content], more: usize) -> usize {
    let rest = parts.iter().skip(1).map(|part| around(part) + more).sum::<usize>();
    rest + parts.iter().map(payload).sum::<usize>()
}

/// Returns parts of at most `limit` bytes and a line that says what is missing, and how many bytes that is.
fn shortened(parts: &[Content], limit: usize, more: usize) -> (Vec<Content>, usize) {
    let size = size_of(parts, more);
    let bytes: usize = parts.iter().map(len).sum();
    // Where the line would be longer than what it stands for, less is kept, and less is said.
    let notes = [Note::Whole, Note::Short, Note::None];
    for note in notes {
        let mut room = limit;
        loop {
            let (kept, missing) = cut(parts, bytes, room, more, note);
            let over = size_of(&kept, more).saturating_sub(size);
            if over == 0 {
                return (kept, missing);
            }
            if room == 0 {
                break;
            }
            room = room.saturating_sub(over);
        }
    }
    (vec![Content::text(String::new())], bytes)
}

/// How much is said of what is missing.
#[derive(Clone, Copy)]
enum Note {
    Whole,
    Short,
    None,
}

impl Note {
    fn of(self, bytes: usize) -> String {
        match self {
            Self::Whole => format!("[{bytes} bytes left out: the result is larger than the limit]"),
            Self::Short => "[cut]".to_owned(),
            Self::None => String::new(),
        }
    }
}

fn cut(
    parts: &[Content],
    bytes: usize,
    limit: usize,
    more: usize,
    note: Note,
) -> (Vec<Content>, usize) {
    let (mut left, mut whole, mut unsaid) = (limit, 0, 0);
    let mut kept = Vec::new();
    for part in parts {
        let own = if kept.is_empty() { 0 } else { around(part) + more };
        let size = own + payload(part);
        if size <= left {
            left -= size;
            whole += len(part);
            kept.push(part.clone());
            continue;
        }
        let bare = without_attributes(part);
        let size = own + payload(&bare);
        if size <= left {
            left -= size;
            whole += len(part);
            unsaid += payload(part) - payload(&bare);
            kept.push(bare);
            continue;
        }
        // Half an image is no image, so only text is kept in part.
        let room = left.saturating_sub(own);
        let (head, tail) = match part {
            Content::Text(text) if room > 0 => ends(text, room),
            _ => ("", ""),
        };
        let missing = bytes - whole - head.len() - tail.len();
        let note = note.of(missing);
        kept.push(Content::text(match (head, tail) {
            ("", "") => note,
            _ => format!("{head}\n{note}\n{tail}"),
        }));
        return (kept, missing + unsaid);
    }
    (kept, unsaid)
}

/// Returns a part without its annotations and its `_meta`, which no model reads.
fn without_attributes(part: &Content) -> Content {
    let mut part = part.clone();
    *part.attributes_mut() = Attributes::default();
    if let Content::Resource(resource) = &mut part {
        resource.meta = None;
    }
    part
}

/// Returns the head and the tail of a text that take `room` bytes together, three quarters and one.
fn ends(text: &str, room: usize) -> (&str, &str) {
    let most = (room - room / 4).min(text.len());
    let head = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (head, rest) = text.split_at(head);
    let least = rest.len().saturating_sub(room / 4);
    let tail = (least..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
    (head, &rest[tail..])
}
