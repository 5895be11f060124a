//! A reader of lines of a bounded length, in memory of a bounded size.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::output::ChildOutput;

/// The number of bytes kept from the start and from the end of a skipped line.
const EDGE: usize = 4096;

/// One line of input.
#[derive(Debug)]
pub(super) enum ChildLine {
    /// The whole line.
    Whole(Vec<u8>),
    /// The two ends of a line longer than the limit.
    TooLong { head: Vec<u8>, tail: Vec<u8> },
}

/// A buffered reader of lines.
pub(super) struct ChildLines<R> {
    stream: BufReader<R>,
    max: usize,
    line: Vec<u8>,
    /// The end of a line that is being skipped.
    skipping: Option<Vec<u8>>,
    /// Learns of a line that has no end yet.
    output: Arc<ChildOutput>,
}

impl<R: AsyncRead + Unpin> ChildLines<R> {
    pub(super) fn new(stream: R, max: usize, output: Arc<ChildOutput>) -> Self {
        let stream = BufReader::with_capacity(64 * 1024, stream);
        Self { stream, max, line: Vec::new(), skipping: None, output }
    }

    /// Returns the next line without its line break; `None` at the end of the stream. Text after
    /// the last line break is no message: its writer died in the middle.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<ChildLine> {
        loop {
            let chunk = self.stream.fill_buf().await.ok()?;
            if chunk.is_empty() {
                return None;
            }
            let end = memchr::memchr(b'\n', chunk);
            let (taken, used) = end.map_or((chunk, chunk.len()), |end| (&chunk[..end], end + 1));
            if self.skipping.is_none() && self.line.len() + taken.len() > self.max {
                let mut tail = std::mem::take(&mut self.line);
                tail.extend_from_slice(&taken[..taken.len().min(EDGE)]);
                self.line = tail[..tail.len().min(EDGE)].to_vec();
                keep_end(&mut tail);
                tail.shrink_to_fit();
                self.skipping = Some(tail);
            }
            match &mut self.skipping {
                None => self.line.extend_from_slice(taken),
                Some(tail) => {
                    tail.extend_from_slice(&taken[taken.len().saturating_sub(EDGE)..]);
                    keep_end(tail);
                }
            }
            self.stream.consume(used);
            self.output.unfinished(if end.is_some() { b"" } else { &self.line });
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                return Some(match self.skipping.take() {
                    None => ChildLine::Whole(line),
                    Some(tail) => ChildLine::TooLong { head: line, tail },
                });
            }
        }
    }
}

fn keep_end(tail: &mut Vec<u8>) {
    if tail.len() > EDGE {
        tail.drain(..tail.len() - EDGE);
    }
}
