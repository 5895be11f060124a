//! The part of a large result that a model is shown.

use std::fmt::Write as _;

use super::line_index::breaks_in;
use super::sample::sample;
use super::store::{KeptResult, texts};
use crate::call::Content;
use crate::text::{QUOTED, ceil_boundary, cut, estimate_tokens, floor_boundary, quote};

/// A part of a result: what it is, what is shown of it, and what was left out.
pub(super) struct Shown {
    /// The kind and the size: `text of 12 000 lines, 1 204 331 bytes, about 310 000 tokens`.
    pub(super) about: String,
    /// Arguments of `result_read` that read on, as JSON without the handle.
    pub(super) read_on: &'static str,
    pub(super) part: String,
}

impl Shown {
    /// Adds the parts that are no text, which are not shown.
    pub(super) fn with_media(mut self, result: &KeptResult) -> Self {
        let media = media(result);
        if !media.is_empty() {
            if texts(&result.content).all(str::is_empty) {
                self.about = String::from("no text");
                self.read_on = r#""part": 1"#;
            }
            self.about = format!("{}; {}", self.about, media.join(", "));
        }
        self
    }
}

/// Returns the part of the text of a result, of at most about `bytes` bytes, that says most.
pub(super) fn shown(result: &KeptResult, bytes: usize) -> Shown {
    let text = result.text();
    let size = format!("{} bytes, about {} tokens", text.len(), tokens(&text));
    let mut shown = if let Some(part) = sample(&text, bytes) {
        Shown {
            about: format!("JSON, {size}"),
            read_on: r#""pointer": "/a/0..10/b" or "search": "…""#,
            part,
        }
    } else if let Some((rows, part)) = table(&text, bytes) {
        Shown {
            about: format!("a table of {rows} rows under its header, {size}"),
            read_on: r#""search": "…" or "lines": "100..120""#,
            part,
        }
    } else {
        let breaks = result.lines.breaks_before(&text, text.len());
        let lines = lines_of(&text, breaks);
        Shown {
            about: format!("text of {lines} lines, {size}"),
            read_on: if lines > 20 {
                r#""search": "…" or "lines": "100..160""#
            } else {
                r#""search": "…" or "bytes": "4000..8000""#
            },
            part: ends(&text, bytes),
        }
    };
    if let Some(value) = &result.structured_content {
        // It may be as large as the text, and is written only to be counted.
        let size = value.to_string().len();
        let _ = write!(shown.about, "; beside it a structured result of {size} bytes");
        shown.read_on = r#""pointer": "/a/0..10/b" or "search": "…""#;
    }
    shown
}

/// Returns the estimated tokens of a text, without reading all of a long one.
pub(super) fn tokens(text: &str) -> usize {
    const READ: usize = 1 << 16;
    if text.len() <= 2 * READ {
        return estimate_tokens(text);
    }
    // The beginning and a piece of the middle stand for the rest.
    let head = cut(text, READ);
    let middle = &text[floor_boundary(text, text.len() / 2)..];
    let middle = cut(middle, READ);
    let read = head.len() + middle.len();
    let counted = estimate_tokens(head) + estimate_tokens(middle);
    // The bytes are few enough for the product.
    text.len() / read * counted + text.len() % read * counted / read
}

/// Returns the number of lines.
pub(super) fn lines(text: &str) -> usize {
    lines_of(text, breaks_in(text.as_bytes()))
}

/// Returns the number of lines of a text with so many line breaks.
fn lines_of(text: &str, breaks: usize) -> usize {
    breaks + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Describes the parts that are no text, with their numbers.
fn media(result: &KeptResult) -> Vec<String> {
    let of = |(at, part): (usize, &Content)| {
        let (kind, mime_type) = match part {
            Content::Image(media) => ("an image", Some(&media.mime_type)),
            Content::Audio(media) => ("audio", Some(&media.mime_type)),
            Content::Resource(resource) if resource.text.is_none() => {
                ("a document", resource.mime_type.as_ref())
            }
            Content::ResourceLink(_) => ("a link", None),
            Content::Text(_) | Content::Resource(_) => return None,
        };
        let mime_type = mime_type.map(|name| format!(" ({})", quote(name, QUOTED)));
        let mime_type = mime_type.unwrap_or_default();
        Some(format!("part {}: {kind}{mime_type} of {} bytes", at + 1, part.len()))
    };
    let all: Vec<_> = result.content.iter().enumerate().filter_map(of).collect();
    let more = all.len().saturating_sub(20);
    let mut shown: Vec<_> = all.into_iter().take(20).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown
}

/// Returns the head and the tail of a text on line boundaries, with what is left out between them.
pub(super) fn ends(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let head = head(text, bytes - bytes / 3);
    let tail = tail(&text[head.len()..], bytes / 3);
    let left = &text[head.len()..text.len() - tail.len()];
    let first = lines(head) + 1;
    let at_line = head.ends_with('\n') && (tail.is_empty() || left.ends_with('\n'));
    let note = if at_line && !left.is_empty() {
        let count = lines(left);
        format!("[… lines {first} to {} left out, {} bytes …]", first + count - 1, left.len())
    } else {
        format!("[… bytes {} to {} left out …]", head.len(), head.len() + left.len())
    };
    let newline = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{newline}{note}\n{tail}")
}

/// Returns the first lines of a text in `bytes`, or a piece of the first line if that is longer.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    let cut = cut(text, bytes);
    if cut.len() == text.len() {
        return text;
    }
    match cut.rfind('\n') {
        // Not at the price of most of the room.
        Some(end) if end >= bytes / 2 => &cut[..=end],
        _ => cut,
    }
}

/// Returns the last lines of a text in `bytes`, or a piece of the last line if that is longer.
pub(super) fn tail(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let cut = &text[ceil_boundary(text, text.len() - bytes)..];
    // A line that ends where the text does is no boundary.
    match cut.find('\n') {
        Some(end) if end <= bytes / 2 && end + 1 < cut.len() => &cut[end + 1..],
        _ => cut,
    }
}

/// Returns the number of rows of a table and its header with the first and last rows.
fn table(text: &str, bytes: usize) -> Option<(usize, String)> {
    let mut some = text.lines().take(20);
    let header = some.next()?;
    if header.len() > bytes / 2 {
        return None;
    }
    let count = |line: &str, delimiter: char| line.matches(delimiter).count();
    let delimiter = ['\t', ',', ';', '|'].into_iter().max_by_key(|of| count(header, *of))?;
    let columns = count(header, delimiter);
    // A quoted field may hold a delimiter, so few lines may differ.
    let rows: Vec<_> = some.collect();
    let equal = rows.iter().filter(|line| count(line, delimiter) == columns).count();
    if columns == 0 || rows.len() < 5 || 10 * equal < 8 * rows.len() {
        return None;
    }
    Some((lines(text).saturating_sub(1), ends(text, bytes)))
}
