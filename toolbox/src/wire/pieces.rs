//! Pieces of a stream: JSON text, and the indices that say where a piece belongs.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::format::WireError;

/// The progress of JSON text that comes in pieces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum JsonProgress {
    /// Nothing but blanks.
    #[default]
    Blank,
    /// Begun, and not ended; a text that is no object and no list never ends.
    Open,
    /// One object or list, which has ended.
    Whole,
    /// More than blanks follow after the end.
    Beyond,
}

/// JSON text that comes in pieces. Its end is known without reading any of it again.
#[derive(Debug, Clone, Default)]
pub(super) struct JsonText {
    text: String,
    progress: JsonProgress,
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl JsonText {
    pub(super) fn of(text: &str) -> Self {
        let mut json = Self::default();
        json.push(text);
        json
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn into_string(self) -> String {
        self.text
    }

    pub(super) fn progress(&self) -> JsonProgress {
        self.progress
    }

    pub(super) fn push(&mut self, more: &str) {
        self.text.push_str(more);
        for byte in more.bytes() {
            self.step(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        let is_open = self.progress == JsonProgress::Open;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'{' | b'[' if self.progress == JsonProgress::Blank => {
                (self.progress, self.depth) = (JsonProgress::Open, 1);
            }
            _ if self.progress == JsonProgress::Blank => self.progress = JsonProgress::Open,
            _ if !is_open => self.progress = JsonProgress::Beyond,
            // A text that did not begin with an object or a list has no depth.
            _ if self.depth == 0 => {}
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth -= 1;
                if self.depth == 0 {
                    self.progress = JsonProgress::Whole;
                }
            }
            _ => {}
        }
    }
}

/// The parts of a reply that have a beginning and an end of their own, by the indices that the
/// service gives them: any numbers, or none.
#[derive(Debug, Default)]
pub(super) struct OpenParts {
    places: HashMap<u64, usize>,
    len: usize,
    open_calls: BTreeSet<usize>,
}

impl OpenParts {
    /// Begins the next part, and returns its place. An index that was given before is the new
    /// part's from now on.
    pub(super) fn start(&mut self, index: Option<u64>, is_call: bool) -> usize {
        let place = self.len;
        self.len += 1;
        self.places.insert(index.unwrap_or(place as u64), place);
        if is_call {
            self.open_calls.insert(place);
        }
        place
    }

    /// Returns the part that an event belongs to, if there is one: that of its index, or without
    /// one, the last.
    pub(super) fn place(&self, index: Option<u64>) -> Result<Option<usize>, WireError> {
        let Some(index) = index else {
            let last = self.len.checked_sub(1);
            if self.open_calls.iter().any(|open| Some(*open) != last) {
                let what = "an event without an index may belong to several calls";
                return Err(WireError::Invalid(what.into()));
            }
            return Ok(last);
        };
        Ok(self.places.get(&index).copied())
    }

    /// Ends a part; returns `true` if it is a call that was open.
    pub(super) fn stop(&mut self, place: usize) -> bool {
        self.open_calls.remove(&place)
    }

    pub(super) fn is_open_call(&self, place: usize) -> bool {
        self.open_calls.contains(&place)
    }

    /// Returns `true` if a call has begun whose end was not seen.
    pub(super) fn has_open_call(&self) -> bool {
        !self.open_calls.is_empty()
    }
}

/// Checks that a call which has arguments at its beginning and in pieces after it has the same.
pub(super) fn same_arguments(start: Option<&Value>, pieces: &str) -> Result<(), WireError> {
    let Some(start) = start.and_then(begun_arguments).filter(|_| !pieces.trim().is_empty()) else {
        return Ok(());
    };
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    if read(pieces).is_some_and(|pieces| read(&start) == Some(pieces)) {
        return Ok(());
    }
    Err(WireError::Invalid("a call begins with other arguments than it goes on with".into()))
}

/// Returns the text of the arguments that a call begins with, if there are any: an empty object is
/// in the place of those that follow.
pub(super) fn begun_arguments(arguments: &Value) -> Option<String> {
    let text = text_of(arguments);
    (!matches!(text.trim(), "" | "{}" | "null")).then_some(text)
}

/// Returns the text of arguments: a text is that already.
pub(super) fn text_of(arguments: &Value) -> String {
    match arguments {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_json_text_is_seen_wherever_it_is_cut() {
        let cases = [
            ("", JsonProgress::Blank),
            (" \n", JsonProgress::Blank),
            ("{", JsonProgress::Open),
            (r#"{"a":"}"#, JsonProgress::Open),
            (r#"{"a":"\"}"#, JsonProgress::Open),
            (r#"{"a":["{"]}"#, JsonProgress::Whole),
            (r#" {"a":"\\"} "#, JsonProgress::Whole),
            ("[[]]", JsonProgress::Whole),
            ("{}}", JsonProgress::Beyond),
            (r#"{}"{"#, JsonProgress::Beyond),
            ("null", JsonProgress::Open),
            ("x{}", JsonProgress::Open),
            ("}", JsonProgress::Open),
        ];
        for (text, expected) in cases {
            for at in 0..=text.len() {
                let mut json = JsonText::of(&text[..at]);
                json.push(&text[at..]);
                assert_eq!((json.progress(), json.as_str()), (expected, text), "cut at {at}");
            }
        }
    }
}
