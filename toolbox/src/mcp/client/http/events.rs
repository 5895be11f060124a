//! A parser of server-sent events, in memory of a bounded size.
//!
//! Some servers name the content type of events and send the JSON of a message without `data:`. No
//! field of an event begins with a bracket, so it is read as the data of an event of its own.

use std::collections::VecDeque;

/// The maximum length of an event id, in bytes.
const MAX_ID: usize = 1024;

/// One event as received.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SseEvent {
    kind: Vec<u8>,
    pub(super) data: Option<Vec<u8>>,
    /// The id with which an interrupted stream is resumed.
    pub(super) id: Option<String>,
    /// The delay before resuming, in milliseconds.
    pub(super) retry: Option<u64>,
}

impl SseEvent {
    /// Returns whether its data is a JSON-RPC message.
    pub(super) fn is_message(&self) -> bool {
        matches!(&*self.kind, b"" | b"message")
    }

    /// Returns whether it names the address for messages, as a server of the old transport does.
    pub(super) fn is_endpoint(&self) -> bool {
        &*self.kind == b"endpoint"
    }
}

/// An incremental parser of an event stream.
#[derive(Debug)]
pub(super) struct SseParser {
    max: usize,
    line: Vec<u8>,
    event: SseEvent,
    ready: VecDeque<SseEvent>,
    after_return: bool,
    begun: bool,
    /// The brackets that are open in the JSON of a message without a field.
    open: usize,
    is_over: bool,
}

impl SseParser {
    /// Creates a parser; an event may have `max` bytes.
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            line: Vec::new(),
            event: SseEvent::default(),
            ready: VecDeque::new(),
            after_return: false,
            begun: false,
            open: 0,
            is_over: false,
        }
    }

    /// Returns the next complete event.
    pub(super) fn next(&mut self) -> Option<SseEvent> {
        self.ready.pop_front()
    }

    /// Returns whether an event exceeded the limit; the parser then yields no more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        if std::mem::take(&mut self.after_return) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while !bytes.is_empty() && !self.is_over {
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            let held = self.event.data.as_ref().map_or(0, Vec::len) + self.line.len();
            if held + piece.len() > self.max {
                self.is_over = true;
                self.line = Vec::new();
                self.event = SseEvent::default();
                return;
            }
            self.line.extend_from_slice(piece);
            bytes = match rest {
                [] => rest,
                [b'\r', b'\n', rest @ ..] => {
                    self.end_line();
                    rest
                }
                [first, rest @ ..] => {
                    self.after_return = *first == b'\r' && rest.is_empty();
                    self.end_line();
                    rest
                }
            };
        }
    }

    /// Completes the last event, since some servers omit the empty line that ends it.
    pub(super) fn end(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_event();
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) if !self.begun => rest,
            _ => &line,
        };
        self.begun = true;
        if line.is_empty() {
            return self.end_event();
        }
        let begins = self.event.data.is_none()
            && line.trim_ascii_start().first().is_some_and(|first| matches!(first, b'{' | b'['));
        if self.open > 0 || begins {
            self.push_data(line);
            self.open = open_after(line, self.open);
            if self.open == 0 {
                self.end_event();
            }
            return;
        }
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.event.kind = value.to_vec(),
            b"data" => self.push_data(value),
            // The id is sent back in a header, which has no control characters and a limited
            // length.
            b"id" if value.len() <= MAX_ID && !value.iter().any(u8::is_ascii_control) => {
                self.event.id = String::from_utf8(value.to_vec()).ok();
            }
            b"retry" => {
                self.event.retry =
                    std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
            }
            _ => {}
        }
    }

    fn push_data(&mut self, value: &[u8]) {
        match &mut self.event.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            none => *none = Some(value.to_vec()),
        }
    }

    fn end_event(&mut self) {
        self.open = 0;
        let event = std::mem::take(&mut self.event);
        if event != SseEvent::default() {
            self.ready.push_back(event);
        }
    }
}

/// Returns how many brackets are open after a line of JSON. A string ends with its line.
fn open_after(line: &[u8], open: usize) -> usize {
    let (mut open, mut in_string, mut is_escaped) = (open, false, false);
    for byte in line {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => open += 1,
            b'}' | b']' if !in_string => open = open.saturating_sub(1),
            _ => {}
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&str]) -> Vec<String> {
        let mut parser = SseParser::new(40);
        for piece in pieces {
            parser.feed(piece.as_bytes());
        }
        parser.end();
        let all = std::iter::from_fn(|| parser.next());
        let described = all.map(|event| {
            let data = event.data.map(|data| String::from_utf8_lossy(&data).into_owned());
            format!("{data:?} {:?} {:?}", event.id, event.retry)
        });
        let mut described: Vec<String> = described.collect();
        if parser.is_over() {
            described.push("over".to_owned());
        }
        described
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let cases: &[(&str, &[&str])] = &[
            ("data: a\n\n", &[r#"Some("a") None None"#]),
            (
                "\u{feff}data:a\r\n\r\ndata: b\r\rdata",
                &[r#"Some("a") None None"#, r#"Some("b") None None"#, r#"Some("") None None"#],
            ),
            (":hello\nid: 7\nretry: 20\ndata\n\n\n\n", &[r#"Some("") Some("7") Some(20)"#]),
            (
                "data: a\ndata:  b\nid: x\0\nretry: soon\nunknown: 1\n\n",
                &[r#"Some("a\n b") None None"#],
            ),
            ("data: left open", &[r#"Some("left open") None None"#]),
            // Messages without a field: alone, over several lines, beside events, cut off.
            ("\u{feff}{\"a\": [1, \"]}\"]}", &[r#"Some("{\"a\": [1, \"]}\"]}") None None"#]),
            ("[\n {\n }\n]\n", &[r#"Some("[\n {\n }\n]") None None"#]),
            (
                "id: 7\n{\"a\":\"\\\"{\"}\n{}\ndata: b\n{}\n\n",
                &[
                    r#"Some("{\"a\":\"\\\"{\"}") Some("7") None"#,
                    r#"Some("{}") None None"#,
                    r#"Some("b") None None"#,
                ],
            ),
            ("{\"a\n\ndata: b", &[r#"Some("{\"a") None None"#, r#"Some("b") None None"#]),
            (
                "data: a\n\ndata: 0123456789012345678901234567890123456789\n\ndata: b\n\n",
                &[r#"Some("a") None None"#, "over"],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(events(&[text]), *expected, "{text:?}");
            for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                assert_eq!(events(&[&text[..cut], &text[cut..]]), *expected, "{text:?} at {cut}");
            }
        }
    }
}
