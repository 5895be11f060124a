//! The items of a tool that streams, and what is collected of them.

use serde::Serialize;

use crate::call::{Content, FailureKind, ToolResult};

/// The most items of one call.
const MAX_ITEMS: u64 = 100_000;
/// The most bytes that are collected of one call.
const MAX_BYTES: usize = 16 << 20;

/// The items that the result of a tool that streams is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Collect {
    /// All items: text joined as it comes, JSON as a list, other content one after the other.
    #[default]
    All,
    /// All items, each on a line of its own if they are text.
    Lines,
    /// The last item alone.
    Last,
}

/// The items so far. Where nobody takes them before the call ends, text and JSON are written to
/// their place at once; all else is a [`ToolResult`] first.
#[doc(hidden)]
#[derive(Debug)]
pub struct Collected {
    collect: Collect,
    /// `true` if each item is also put out as it comes.
    is_shown: bool,
    /// An item that was put and not added yet.
    put: Option<ToolResult>,
    kept: CollectedForm,
    /// The JSON of an item that takes the place of the last one, once it is written.
    next: Vec<u8>,
    count: u64,
    bytes: usize,
    is_untrusted: bool,
    /// `true` if each item fits the output schema of its type.
    is_structured: bool,
}

#[derive(Debug, Default)]
enum CollectedForm {
    #[default]
    None,
    Text(String),
    /// A JSON list without its end, or the last item.
    Json(Vec<u8>, JsonOf),
    Parts(Vec<Content>),
    Last(Box<ToolResult>),
}

/// Where the JSON of an item comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonOf {
    /// A type whose values always fit its output schema.
    Scalar,
    /// A type with an output schema.
    Schema,
    /// A type without one.
    Any,
}

impl Collected {
    /// Returns no items yet.
    pub fn new(collect: Collect, is_shown: bool) -> Self {
        Self {
            collect,
            is_shown,
            put: None,
            kept: CollectedForm::None,
            next: if collect == Collect::Last { Vec::with_capacity(64) } else { Vec::new() },
            count: 0,
            bytes: 0,
            is_untrusted: false,
            is_structured: true,
        }
    }

    /// Puts an item, which may be a failure.
    pub fn put(&mut self, item: ToolResult) {
        self.put = Some(item);
    }

    /// Puts a text.
    pub(crate) fn put_text(&mut self, text: &str) {
        match &mut self.kept {
            CollectedForm::Text(all) if !self.is_shown => {
                match self.collect {
                    Collect::All => {}
                    Collect::Lines => all.push('\n'),
                    Collect::Last => all.clear(),
                }
                all.push_str(text);
            }
            kept @ CollectedForm::None if !self.is_shown => {
                *kept = CollectedForm::Text(text.to_owned());
            }
            _ => return self.put(ToolResult::new(text)),
        }
        self.count += 1;
        self.bytes += text.len();
    }

    /// Puts a number or another scalar, as JSON that fits its type's schema.
    #[inline]
    pub(crate) fn put_scalar(&mut self, scalar: &str) {
        let is_written = self.write(JsonOf::Scalar, |json| {
            json.extend_from_slice(scalar.as_bytes());
            true
        });
        if !is_written {
            self.put(ToolResult::structured(scalar.to_owned()));
        }
    }

    /// Puts the JSON of a value, unless `fits` finds by its first byte that it is text: then what
    /// `whole` returns.
    pub(crate) fn put_json<T: Serialize>(
        &mut self,
        value: &T,
        of: JsonOf,
        fits: impl FnOnce(u8) -> bool,
        whole: impl FnOnce(&T) -> ToolResult,
    ) {
        let is_written = self.write(of, |json| {
            let start = json.len();
            serde_json::to_writer(&mut *json, value).is_ok()
                && json.get(start).copied().is_some_and(fits)
        });
        if !is_written {
            self.put(whole(value));
        }
    }

    /// Adds an item that is written as JSON to its place. Returns `false`, and adds none, if it has
    /// no such place or cannot be written.
    #[inline]
    fn write(&mut self, of: JsonOf, write: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        if self.is_shown {
            return false;
        }
        if let CollectedForm::None = self.kept {
            self.kept = CollectedForm::Json(Vec::with_capacity(256), of);
        }
        let CollectedForm::Json(kept, _) = &mut self.kept else { return false };
        let before = kept.len();
        // The item before stays the last one if this cannot be written.
        let is_last = self.collect == Collect::Last;
        let json = if is_last { &mut self.next } else { &mut *kept };
        if is_last {
            json.clear();
        } else {
            json.push(if before == 0 { b'[' } else { b',' });
        }
        let start = json.len();
        if write(json) {
            self.count += 1;
            self.bytes += json.len() - start;
            self.is_structured &= of != JsonOf::Any;
            if is_last {
                std::mem::swap(kept, &mut self.next);
            }
            return true;
        }
        kept.truncate(before);
        if before == 0 {
            self.kept = CollectedForm::None;
        }
        false
    }

    /// Returns the item that was put last, if it is still to be added.
    #[inline]
    pub fn take_put(&mut self) -> Option<ToolResult> {
        // Not moved where there is none.
        if self.put.is_some() { self.put.take() } else { None }
    }

    /// Returns `true` if each item is also put out as it comes.
    pub fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// Returns how many were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns `true` if no more are collected.
    #[inline]
    pub fn are_full(&self) -> bool {
        let bytes = if self.collect == Collect::Last { 0 } else { self.bytes };
        self.count > MAX_ITEMS || bytes > MAX_BYTES
    }

    /// Adds an item that is no failure.
    pub fn add(&mut self, item: ToolResult) {
        self.count += 1;
        self.is_untrusted |= item.is_untrusted();
        if self.collect == Collect::Last {
            self.kept = CollectedForm::Last(Box::new(item));
            return;
        }
        self.bytes += item.content().iter().map(Content::len).sum::<usize>();
        let is_structured = item.structured_text().is_some();
        let is_json = is_structured || item.is_json();
        self.is_structured &= is_structured;
        match (&mut self.kept, item.content()) {
            (kept @ CollectedForm::None, [Content::Text(text)]) if is_json => {
                *kept = CollectedForm::Json(format!("[{}", &**text).into(), JsonOf::Any);
            }
            (kept @ CollectedForm::None, [Content::Text(text)]) => {
                *kept = CollectedForm::Text((**text).to_owned());
            }
            (CollectedForm::Json(json, _), [Content::Text(text)]) if is_json => {
                json.push(b',');
                json.extend_from_slice(text.as_bytes());
            }
            (CollectedForm::Text(all), [Content::Text(text)]) if !is_json => {
                if self.collect == Collect::Lines {
                    all.push('\n');
                }
                all.push_str(text);
            }
            (kept, parts) => {
                let parts = parts.to_vec();
                let mut all = std::mem::take(kept).into_parts(self.collect);
                all.extend(parts);
                *kept = CollectedForm::Parts(all);
                self.is_structured = false;
            }
        }
    }

    /// Keeps one result in place of all items.
    pub fn keep_only(&mut self, result: ToolResult) {
        self.kept = CollectedForm::Last(Box::new(result));
    }

    /// Returns the result of a stream that ended.
    pub fn end(self, has_schema: bool) -> ToolResult {
        let is_last = self.collect == Collect::Last;
        let mut result = match self.kept {
            CollectedForm::None if is_last => {
                let text = "the tool's stream ended without an item";
                ToolResult::failure(FailureKind::InvalidOutput, text)
            }
            CollectedForm::None if has_schema => ToolResult::structured("[]".to_owned()),
            CollectedForm::None => ToolResult::new("the tool put out nothing"),
            CollectedForm::Text(text) => ToolResult::new(text),
            CollectedForm::Json(json, of) => {
                let json = text_of(json, self.collect);
                match of {
                    JsonOf::Schema if is_last => ToolResult::typed(json),
                    _ if self.is_structured => ToolResult::structured(json),
                    _ => ToolResult::json(json),
                }
            }
            CollectedForm::Parts(parts) => parts.into(),
            CollectedForm::Last(item) => *item,
        };
        if self.is_untrusted {
            result.mark_as_untrusted();
        }
        result
    }

    /// Returns the result of a stream that ended with a failure.
    pub fn failed(self, failure: ToolResult) -> ToolResult {
        if self.count == 0 {
            return failure;
        }
        let text = format!("the stream ended after {}: {}", counted(self.count), failure.text());
        // First, so that no limit of a result cuts it.
        let mut parts = vec![Content::text(text)];
        parts.extend(self.kept.into_parts(self.collect));
        let mut failure = failure.with_parts(parts);
        if self.is_untrusted {
            failure.mark_as_untrusted();
        }
        failure
    }

    /// Returns the result of a stream that did not end.
    pub fn stopped(self) -> ToolResult {
        let text = format!(
            "it was stopped there, since at most {MAX_ITEMS} items and {} MiB are collected: \
             ask for less",
            MAX_BYTES >> 20
        );
        self.failed(ToolResult::failure(FailureKind::ResultTooLarge, text))
    }
}

impl CollectedForm {
    fn into_parts(self, collect: Collect) -> Vec<Content> {
        match self {
            Self::None => Vec::new(),
            Self::Text(text) => vec![Content::text(text)],
            Self::Json(json, _) => vec![Content::text(text_of(json, collect))],
            Self::Parts(parts) => parts,
            Self::Last(item) => item.content().to_vec(),
        }
    }
}

/// Returns the JSON text of what was collected.
fn text_of(mut json: Vec<u8>, collect: Collect) -> String {
    if collect != Collect::Last {
        json.push(b']');
    }
    // serde_json writes UTF-8.
    String::from_utf8(json).unwrap_or_default()
}

fn counted(items: u64) -> String {
    if items == 1 { "one item".to_owned() } else { format!("{items} items") }
}
