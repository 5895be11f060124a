//! The output of a command: its beginning and its end, in bounded memory.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::sync::Mutex;
use crate::text::clean;

/// The beginning and the end of a stream.
pub(super) struct OutputBuffer(Mutex<OutputParts>);

#[derive(Default)]
struct OutputParts {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// The maximum number of bytes of each of the two.
    half: usize,
    left_out: u64,
}

impl OutputBuffer {
    pub(super) fn new(bytes: usize) -> Self {
        Self(Mutex::new(OutputParts { half: bytes / 2, ..OutputParts::default() }))
    }

    /// Reads a stream to its end.
    pub(super) async fn read(&self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut buffer = vec![0; 16 << 10];
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            self.0.lock().push(&buffer[..read]);
        }
    }

    /// Returns it as text for a model, without terminal control codes.
    pub(super) fn text(&self) -> String {
        let mut parts = self.0.lock();
        let left_out = parts.left_out;
        let tail = parts.tail.make_contiguous();
        if left_out == 0 {
            let tail = tail.to_vec();
            parts.head.extend(tail);
            return plain(&parts.head);
        }
        let tail = plain(tail);
        format!("{}\n[.. {left_out} bytes left out ..]\n{tail}", plain(&parts.head))
    }
}

impl OutputParts {
    fn push(&mut self, bytes: &[u8]) {
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        let over = (self.tail.len() + tail.len()).saturating_sub(self.half);
        self.left_out += over as u64;
        let gone = over.min(self.tail.len());
        self.tail.drain(..gone);
        self.tail.extend(&tail[over - gone..]);
    }
}

/// Removes terminal control codes; bytes that are no UTF-8 are replaced.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    // A cut at either end may have left a part of a character.
    clean(&text).trim_matches(char::REPLACEMENT_CHARACTER).to_owned()
}
