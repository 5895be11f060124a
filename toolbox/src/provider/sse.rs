//! Server-sent events (WHATWG HTML, 9.2.6), read as the bytes come.
//!
//! Only the data of events matters here: every service repeats the event's type in its data.

/// Cuts a stream of bytes into events. The bytes may be split anywhere, inside of a character too.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The data of the event that has not ended yet; `None` before its first line.
    data: Option<String>,
    /// The last byte was a carriage return, so a line feed that follows belongs to it.
    after_return: bool,
    /// A line has been read, so that a byte order mark would be one no more.
    begun: bool,
}

/// Text that is not UTF-8, of which no event can be made.
#[derive(Debug)]
pub(super) struct NotText;

impl Events {
    /// Takes more bytes, and adds the data of each event that is complete to `events`.
    pub(super) fn push(&mut self, bytes: &[u8], events: &mut Vec<String>) -> Result<(), NotText> {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if self.after_return && first == b'\n' {
                rest = &rest[1..];
            }
            self.after_return = false;
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.line.extend_from_slice(rest);
                return Ok(());
            };
            self.line.extend_from_slice(&rest[..end]);
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.end_line(events)?;
        }
        Ok(())
    }

    /// Ends the stream: an event whose blank line is missing counts as well.
    pub(super) fn finish(mut self, events: &mut Vec<String>) -> Result<(), NotText> {
        self.end_line(events)?;
        events.extend(self.data);
        Ok(())
    }

    /// Returns how many bytes wait for the end of their event.
    pub(super) fn waiting(&self) -> usize {
        self.line.len() + self.data.as_ref().map_or(0, String::len)
    }

    fn end_line(&mut self, events: &mut Vec<String>) -> Result<(), NotText> {
        let line = std::mem::take(&mut self.line);
        let mut line = std::str::from_utf8(&line).map_err(|_| NotText)?;
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            events.extend(self.data.take());
            return Ok(());
        }
        // A line without a colon is a field without a value, and one that begins with a colon is a comment.
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
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Option<Vec<String>> {
        let mut events = Vec::new();
        let mut parser = Events::default();
        for piece in pieces {
            parser.push(piece, &mut events).ok()?;
        }
        parser.finish(&mut events).ok()?;
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
}
