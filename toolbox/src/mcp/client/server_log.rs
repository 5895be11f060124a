//! The lines that a server prints on its error stream and logs, for display beside its calls.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::Value;

use super::hidden::HiddenValues;
use super::text;
use crate::mcp::config::{ServerConfig, ServerEndpoint};
use crate::sync::Mutex;
use crate::text::cut;

/// The lines that are kept of one server.
const MAX_LINES: usize = 1000;

/// The longest line, in bytes.
const MAX_LINE: usize = 4096;

/// The bytes of a line of the error stream that are read; of a longer one the rest is left out, as
/// it may begin within a value that is hidden.
const MAX_UNFINISHED: usize = 8192;

/// A line of a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerLine {
    /// The level of a log message; `None` for the error stream.
    pub(crate) level: Option<String>,
    /// The part of the server that logged it.
    pub(crate) logger: Option<String>,
    pub(crate) text: String,
}

/// The last lines of one server, over all of its connections.
pub(crate) struct ServerLog {
    kept: Mutex<KeptLines>,
    hidden: HiddenValues,
}

#[derive(Default)]
struct KeptLines {
    lines: VecDeque<ServerLine>,
    /// The number of lines so far.
    count: u64,
    /// The line of the error stream that has no end yet.
    unfinished: Vec<u8>,
    /// `true` if that line was too long, and its rest is left out.
    is_cut: bool,
}

/// The parameters of a log message.
#[derive(Deserialize)]
struct LogMessage {
    level: Option<Value>,
    logger: Option<Value>,
    data: Option<Value>,
}

impl ServerLog {
    pub(super) fn new(config: &ServerConfig) -> Self {
        let values = match &config.endpoint {
            ServerEndpoint::Command { environment, .. } => environment,
            ServerEndpoint::Url { headers, .. } => headers,
        };
        Self { kept: Mutex::default(), hidden: HiddenValues::of(values) }
    }

    /// Takes bytes of the error stream.
    pub(super) fn printed(&self, bytes: &[u8]) {
        let mut kept = self.kept.lock();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !kept.is_cut {
                kept.unfinished.extend_from_slice(piece);
            }
            let has_ended = piece.ends_with(b"\n");
            if has_ended || kept.unfinished.len() >= MAX_UNFINISHED {
                self.finish(&mut kept);
                kept.is_cut = !has_ended;
            }
        }
    }

    /// Ends the last line of the error stream.
    pub(super) fn ended(&self) {
        let mut kept = self.kept.lock();
        self.finish(&mut kept);
        kept.is_cut = false;
    }

    fn finish(&self, kept: &mut KeptLines) {
        let line = std::mem::take(&mut kept.unfinished);
        let text = self.displayed(String::from_utf8_lossy(&line).trim_end());
        if !text.is_empty() {
            kept.push(ServerLine { level: None, logger: None, text });
        }
    }

    /// Takes the parameters of a log message; what is none is left out.
    pub(super) fn logged(&self, params: &str) {
        let Ok(message) = serde_json::from_str::<LogMessage>(params) else { return };
        let word = |value: Option<Value>| match value {
            Some(Value::String(text)) => Some(self.displayed(cut(&text, 100))),
            _ => None,
        };
        let text = match message.data {
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
            None => return,
        };
        let level = word(message.level).or_else(|| Some("info".to_owned()));
        let line = ServerLine { level, logger: word(message.logger), text: self.displayed(&text) };
        self.kept.lock().push(line);
    }

    fn displayed(&self, line: &str) -> String {
        let text = self.hidden.hide(text::clean(line).into_owned());
        cut(&text, MAX_LINE).to_owned()
    }

    /// Returns the number of lines so far.
    pub(crate) fn count(&self) -> u64 {
        self.kept.lock().count
    }

    /// Returns the lines that came after the first `from`, of those that are kept, and the number
    /// of lines so far.
    pub(crate) fn since(&self, from: u64) -> (Vec<ServerLine>, u64) {
        let kept = self.kept.lock();
        let new = usize::try_from(kept.count.saturating_sub(from)).unwrap_or(usize::MAX);
        let first = kept.lines.len().saturating_sub(new);
        (kept.lines.range(first..).cloned().collect(), kept.count)
    }
}

impl KeptLines {
    fn push(&mut self, line: ServerLine) {
        self.lines.push_back(line);
        self.count += 1;
        if self.lines.len() > MAX_LINES {
            self.lines.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_value_is_in_a_line_that_is_too_long() {
        let config = ServerConfig::command("server").env("TOKEN", "sk-1234567890");
        let log = ServerLog::new(&config);
        let printed = format!("{}sk-1234567890 and more\nnext\n", "x".repeat(MAX_UNFINISHED - 4));
        // The pieces are as long as the pipe gives them.
        for size in [1, 7, MAX_UNFINISHED, printed.len()] {
            let before = log.count();
            printed.as_bytes().chunks(size).for_each(|piece| log.printed(piece));
            log.printed(b"sk-1234567890");
            log.ended();
            let (lines, _) = log.since(before);
            let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
            let [first, "next", "$TOKEN"] = texts[..] else { panic!("{size}: {texts:?}") };
            assert_eq!(first.trim_matches('x'), "", "{size}");
        }
    }
}
