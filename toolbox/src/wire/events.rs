//! Splits a byte stream into server-sent events (WHATWG HTML, 9.2.6).

use super::format::WireError;

/// The default limit of an event, in bytes.
const MAX_EVENT_BYTES: usize = 16 << 20;

/// Splits a stream of bytes into the data of its server-sent events, to be read by a
/// [`ResponseStream`](super::ResponseStream).
///
/// The bytes may be split anywhere, inside of a character too. Lines end with LF, CRLF or CR;
/// several lines of data are one event; comments, a byte order mark and the other fields (`event`,
/// `id`, `retry`) are skipped, since every service repeats the type of an event in its data.
///
/// ```
/// use toolbox::wire::Events;
///
/// let mut events = Events::new();
/// assert_eq!(events.push(b": ping\r\n\r\ndata: {\"a\":")?, [""; 0]);
/// assert_eq!(events.push(b"1}\r\n\r\ndata: [DONE]")?, [r#"{"a":1}"#]);
/// assert_eq!(events.finish()?.as_deref(), Some("[DONE]"));
/// # Ok::<(), toolbox::wire::WireError>(())
/// ```
#[derive(Debug)]
pub struct Events {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The data of the event that has not ended yet; `None` before its first line.
    data: Option<String>,
    /// `true` if the last byte was a carriage return, so that a line feed that follows belongs to
    /// it.
    after_return: bool,
    /// `true` once a line has been read, after which a byte order mark is data.
    begun: bool,
    max_event_bytes: usize,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            line: Vec::new(),
            data: None,
            after_return: false,
            begun: false,
            max_event_bytes: MAX_EVENT_BYTES,
        }
    }
}

impl Events {
    /// Returns a splitter at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the bytes of one event, and so the memory that is held. Default 16 MiB.
    #[must_use]
    pub fn max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_event_bytes = bytes;
        self
    }

    /// Takes more bytes, and returns the data of each event that they complete, in order.
    ///
    /// # Errors
    ///
    /// [`WireError::Invalid`] if a line is not UTF-8 or an event is longer than the limit; the
    /// stream cannot be read on.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, WireError> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', rest);
            let piece = &rest[..end.unwrap_or(rest.len())];
            if self.waiting().saturating_add(piece.len()) > self.max_event_bytes {
                let limit = self.max_event_bytes;
                return Err(WireError::Invalid(format!("an event is longer than {limit} bytes")));
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { break };
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            events.extend(self.end_line()?);
        }
        Ok(events)
    }

    /// Ends the stream, and returns the event whose blank line is missing, if there is one.
    ///
    /// # Errors
    ///
    /// As for [`Events::push`].
    pub fn finish(mut self) -> Result<Option<String>, WireError> {
        let last = self.end_line()?;
        Ok(last.or(self.data))
    }

    /// Returns the number of bytes that wait for the end of their event.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.line.len() + self.data.as_ref().map_or(0, String::len)
    }

    /// Completes the line, and returns the event that it ends.
    fn end_line(&mut self) -> Result<Option<String>, WireError> {
        let line = std::mem::take(&mut self.line);
        let no_text = |_| WireError::Invalid("an event is not UTF-8 text".to_owned());
        let mut line = std::str::from_utf8(&line).map_err(no_text)?;
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.data.take());
        }
        // A line without a colon is a field without a value, and one that begins with a colon is a
        // comment.
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Option<Vec<String>> {
        let mut events = Vec::new();
        let mut parser = Events::new();
        for piece in pieces {
            events.extend(parser.push(piece).ok()?);
        }
        events.extend(parser.finish().ok()?);
        Some(events)
    }

    #[test]
    fn events_come_out_however_they_are_written_and_split() {
        let cases: [(&str, &[&str]); 12] = [
            ("data: a\n\ndata: b\n\n", &["a", "b"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            ("data: a\r\rdata: b\r\r", &["a", "b"]),
            ("data:a\n\n", &["a"]),
            ("data:  a\n\n", &[" a"]),
            ("data: a\ndata: b\ndata\n\n", &["a\nb\n"]),
            (": ping\n\nevent: x\nid: 7\nretry: 5\ndata: a\n\n", &["a"]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("data: a", &["a"]),
            ("data: ü☃\n\ndata: [DONE]", &["ü☃", "[DONE]"]),
            ("\n\n\n", &[]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            let bytes = text.as_bytes();
            for at in 0..=bytes.len() {
                let (first, second) = bytes.split_at(at);
                assert_eq!(read(&[first, second]).unwrap(), expected, "{text:?} cut at {at}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read(&single).unwrap(), expected, "{text:?}");
        }
        assert_eq!(read(&[b"data: \xff\n\n"]), None);
    }

    #[test]
    fn an_event_is_held_up_to_its_limit_and_no_further() {
        for text in ["data: 123456789\n\n", "data: 1234\ndata: 5678\ndata\n\n"] {
            for (limit, fits) in [(text.len(), true), (9, false)] {
                let whole = Events::new().max_event_bytes(limit).push(text.as_bytes());
                assert_eq!(whole.is_ok(), fits, "{text:?} {limit}");
                let mut single = Events::new().max_event_bytes(limit);
                let read: Result<Vec<_>, _> =
                    text.as_bytes().chunks(1).map(|byte| single.push(byte)).collect();
                assert_eq!(read.is_ok(), fits, "{text:?} {limit}");
            }
        }
        // Without an end of a line, no more is kept than the limit.
        let mut endless = Events::new().max_event_bytes(1000);
        let mut taken = 0;
        while endless.push(&[b'x'; 100]).is_ok() {
            taken += 100;
        }
        assert_eq!((taken, endless.waiting()), (1000, 1000));
        // Short events add up to nothing.
        let mut many = Events::new().max_event_bytes(20);
        for _ in 0..1000 {
            assert_eq!(many.push(b"data: a\n\n: comment\n\n").unwrap(), ["a"]);
        }
    }
}
