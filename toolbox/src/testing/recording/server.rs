//! An MCP server that answers from a recording.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::entry::{Direction, FrameEntry, RecordedEntry};
use super::frames::{SUBSCRIPTION, ToolSchemas, id, method, next_line, progress_token};
use super::recording::Recording;
use super::replay::ReplaySession;

/// The time between the notifications of a request and its answer. Clients such as the TypeScript
/// SDK forget a notification that they read together with the answer.
const PAUSE: Duration = Duration::from_millis(10);

/// An MCP server that answers from a recording, over standard streams or any others. Made by
/// [`Recording::server`].
///
/// A request is matched by its method and its parameters, without `_meta`; `initialize` by its
/// method. The answer has the id of the request. What else the server sent comes at its place:
/// before the answer of the request it came with, or behind the message it followed. A request to
/// the client is sent if the client has the capability, and what follows waits for its answer.
///
/// Strictly, which is the default, a request that is none of the recording is a JSON-RPC error that
/// names the nearest one, and the first difference with both values; so is a call that comes more
/// often than it was recorded. Other requests may be repeated. [Loosely](Self::loose), the nearest
/// by its parameters is answered. Requests may come in any order.
///
/// ```
/// use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};
/// use toolbox::testing::Recording;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = std::env::temp_dir().join(format!("toolbox-doc-{}.jsonl", std::process::id()));
/// let line = |direction, rest| {
///     let line = r#"{"type":"frame","server":"a","connection":1,"direction":"#;
///     format!(r#"{line}"{direction}","frame":{{"jsonrpc":"2.0","id":1,{rest}}}}}"#)
/// };
/// let lines = [
///     r#"{"toolbox_recording":1}"#.to_owned(),
///     line("sent", r#""method":"ping""#),
///     line("received", r#""result":{}"#),
/// ];
/// std::fs::write(&path, lines.join("\n") + "\n")?;
/// let server = Recording::load(&path)?.server("a").unwrap();
/// # std::fs::remove_file(&path)?;
/// let (client, streams) = duplex(1024);
/// tokio::spawn(async move {
///     let (input, output) = split(streams);
///     server.serve(input, output).await
/// });
/// let (input, mut output) = split(client);
/// output.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\"}\n").await?;
/// let answer = BufReader::new(input).lines().next_line().await?.unwrap();
/// assert_eq!(answer, r#"{"jsonrpc":"2.0","id":"x","result":{}}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RecordedServer {
    pub(super) messages: Arc<[RecordedMessage]>,
    pub(super) schemas: Arc<ToolSchemas>,
    pub(super) is_loose: bool,
}

/// A message of the recorded client, with what the server sent because of it.
#[derive(Clone)]
pub(super) struct RecordedMessage {
    pub(super) frame: Value,
    pub(super) following: Vec<ReceivedMessage>,
}

/// A message of the recorded server.
#[derive(Clone)]
pub(super) enum ReceivedMessage {
    /// The answer of the request that it follows.
    Answer(Value),
    /// A notification, or a request to the client.
    Other(Value),
    /// A line that is no JSON.
    Text(String),
}

impl RecordedServer {
    fn new(frames: impl IntoIterator<Item = FrameEntry>) -> Self {
        let mut found = FoundMessages::default();
        let mut schemas = ToolSchemas::default();
        for entry in frames {
            match entry.direction {
                Direction::Sent => found.sent(entry),
                Direction::Received => {
                    schemas.learn(&entry.frame);
                    found.received(entry);
                }
            }
        }
        Self { messages: found.messages.into(), schemas: Arc::new(schemas), is_loose: false }
    }

    /// Returns the server so that it answers a request that was not recorded as the nearest one of
    /// its method; a call as the nearest of its tool.
    #[must_use]
    pub fn loose(mut self) -> Self {
        self.is_loose = true;
        self
    }

    /// Serves one client over any pair of streams, one message per line, until the input ends. Each
    /// session plays the whole recording.
    ///
    /// # Errors
    ///
    /// If the streams fail, or a message is longer than 64 MiB.
    pub async fn serve<R, W>(&self, input: R, mut output: W) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut input = BufReader::new(input);
        let mut session = ReplaySession::new(self);
        while let Some(line) = next_line(&mut input).await? {
            for line in session.answer(&line) {
                if line.ends_notifications {
                    output.flush().await?;
                    tokio::time::sleep(PAUSE).await;
                }
                output.write_all(line.text.as_bytes()).await?;
                output.write_all(b"\n").await?;
            }
            output.flush().await?;
        }
        output.shutdown().await
    }

    /// Serves over standard input and output, until the input ends.
    ///
    /// # Errors
    ///
    /// As for [`serve`](Self::serve).
    #[cfg(feature = "mcp-server")]
    pub async fn serve_stdio(&self) -> io::Result<()> {
        self.serve(crate::mcp::standard_input(), tokio::io::stdout()).await
    }
}

impl Recording {
    /// Returns a server that answers as the one of a name did, strictly; `None` if the recording
    /// has no frame of it.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<RecordedServer> {
        let frames = self.entries().into_iter().filter_map(|entry| match entry {
            RecordedEntry::Frame(frame) if frame.server == name => Some(frame),
            _ => None,
        });
        let mut frames = frames.peekable();
        frames.peek()?;
        Some(RecordedServer::new(frames))
    }

    /// Returns the names of the servers, in the order of their first frames.
    #[must_use]
    pub fn server_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for entry in self.entries() {
            if let RecordedEntry::Frame(frame) = entry
                && !names.contains(&frame.server)
            {
                names.push(frame.server);
            }
        }
        names
    }
}

/// The messages of a recording that were found so far.
#[derive(Default)]
struct FoundMessages {
    messages: Vec<RecordedMessage>,
    /// The requests without an answer, by connection and id.
    open: HashMap<(u64, Value), usize>,
}

impl FoundMessages {
    fn sent(&mut self, entry: FrameEntry) {
        // The answer to a request of the server is the client's own.
        if method(&entry.frame).is_none() {
            return;
        }
        if let Some(id) = id(&entry.frame) {
            self.open.insert((entry.connection, id.clone()), self.messages.len());
        }
        self.messages.push(RecordedMessage { frame: entry.frame, following: Vec::new() });
    }

    fn received(&mut self, entry: FrameEntry) {
        let last = self.messages.len().checked_sub(1);
        let (at, message) = match (entry.text, method(&entry.frame), id(&entry.frame)) {
            (Some(text), ..) => (last, ReceivedMessage::Text(text)),
            (None, None, Some(id)) => {
                let request = self.open.remove(&(entry.connection, id.clone()));
                (request, ReceivedMessage::Answer(entry.frame))
            }
            _ => {
                let request = self.of_notification(entry.connection, &entry.frame);
                (request.or(last), ReceivedMessage::Other(entry.frame))
            }
        };
        if let Some(message_before) = at.and_then(|at| self.messages.get_mut(at)) {
            message_before.following.push(message);
        }
    }

    /// Returns the request that a notification names.
    fn of_notification(&self, connection: u64, frame: &Value) -> Option<usize> {
        let params = frame.get("params")?;
        if let Some(id) = params.get("_meta").and_then(|meta| meta.get(SUBSCRIPTION)) {
            return self.open.get(&(connection, id.clone())).copied();
        }
        let token = params.get("progressToken")?;
        let with_token = |at: &&usize| progress_token(&self.messages[**at].frame) == Some(token);
        self.open.values().find(with_token).copied()
    }
}

impl fmt::Debug for RecordedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedServer")
            .field("messages", &self.messages.len())
            .finish_non_exhaustive()
    }
}
