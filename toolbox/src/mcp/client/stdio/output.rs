//! What a child prints beside its messages: the end of its error stream, and a line of its output
//! that has no end yet.

use std::collections::{BTreeMap, VecDeque};

use crate::mcp::client::hidden::HiddenValues;
use crate::mcp::client::text;
use crate::sync::Mutex;
use crate::text::quote;

/// The number of bytes kept of a child's error stream.
const STDERR_TAIL: usize = 4096;
/// The number of bytes kept of a line without an end.
const UNFINISHED: usize = 1024;
/// The number of lines of the error stream in a message.
const LAST_LINES: usize = 3;
/// The length of such a line in a message, in characters.
const LINE: usize = 200;

/// The output of a child that is not for its client.
#[derive(Default)]
pub(in crate::mcp::client) struct ChildOutput {
    stderr: Mutex<VecDeque<u8>>,
    unfinished: Mutex<Vec<u8>>,
    hidden: HiddenValues,
}

impl ChildOutput {
    /// Returns the output of a child with these variables, whose values are not repeated.
    pub(super) fn new(environment: &BTreeMap<String, String>) -> Self {
        Self { hidden: HiddenValues::of(environment), ..Self::default() }
    }

    /// Takes bytes of the error stream.
    pub(super) fn stderr(&self, bytes: &[u8]) {
        let mut kept = self.stderr.lock();
        kept.extend(&bytes[bytes.len().saturating_sub(STDERR_TAIL)..]);
        let over = kept.len().saturating_sub(STDERR_TAIL);
        kept.drain(..over);
    }

    /// Takes the line of the output that has no end yet; an empty one if there is none.
    pub(super) fn unfinished(&self, line: &[u8]) {
        let mut kept = self.unfinished.lock();
        kept.clear();
        kept.extend(&line[..line.len().min(UNFINISHED)]);
    }

    /// Returns the last lines of the error stream as one; `None` if it said nothing.
    ///
    /// If an error is named before them, as above a stack trace, its line is the first of them.
    pub(in crate::mcp::client) fn last_words(&self) -> Option<String> {
        let lines = self.lines();
        let (before, last) = lines.split_at(lines.len().saturating_sub(LAST_LINES));
        let is_named = last.iter().any(|line| names_error(line));
        let error = before.iter().rfind(|line| !is_named && names_error(line));
        let last = error.into_iter().chain(&last[usize::from(error.is_some())..]);
        let last: Vec<String> = last.map(|line| quote(line, LINE)).collect();
        (!last.is_empty()).then(|| last.join(" / "))
    }

    /// Returns the last line of the error stream.
    pub(in crate::mcp::client) fn last_line(&self) -> Option<String> {
        self.lines().pop()
    }

    /// Returns the lines of the error stream that are kept, without blank ones.
    fn lines(&self) -> Vec<String> {
        let stderr: Vec<u8> = self.stderr.lock().iter().copied().collect();
        let text = self.displayed(&stderr);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        if stderr.len() == STDERR_TAIL && lines.len() > 1 {
            // Its beginning is missing.
            lines.remove(0);
        }
        lines
    }

    /// Returns the line of the output that has no end, unless it is a message on its way.
    pub(in crate::mcp::client) fn unfinished_line(&self) -> Option<String> {
        let line = self.unfinished.lock().clone();
        let line = self.displayed(&line);
        let last = line.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        (!last.starts_with('{')).then(|| last.to_owned())
    }

    /// Returns bytes as text, cleaned, with the names of variables in place of their values.
    pub(in crate::mcp::client) fn displayed(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        self.hidden.hide(text::clean(&text).into_owned())
    }
}

/// Returns `true` for a line that says what went wrong, as runtimes begin a stack trace:
/// `Error: ..`, `TypeError [CODE]: ..`, `thread 'main' panicked at ..`.
fn names_error(line: &str) -> bool {
    if line.contains(" panicked at ") {
        return true;
    }
    let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    // A frame of a stack trace may name an error as well.
    line.contains(':')
        && !line.starts_with("at ")
        && words.take(3).any(|word| {
            ["Error", "Exception"].iter().any(|end| word.ends_with(end))
                || ["error", "fatal", "panic", "ERROR", "FATAL"].contains(&word)
        })
}
