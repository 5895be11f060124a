//! The recorder of the frames between an MCP client and a server.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::entry::{Direction, FrameEntry, RecordedEntry};
use super::error::RecordingError;
use super::frames::{ToolSchemas, messages, next_line};
use super::recording::Recording;
use crate::mcp::{Frame, FrameDirection};
use crate::sync::Mutex;

/// Adds the frames between a client and an MCP server to a recording. Made by
/// [`Recording::session`].
///
/// It stands between the streams of both, in one process or before a child process. To record the
/// servers of a box, see [`Recording::on_frame`].
///
/// ```
/// use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
/// use toolbox::testing::Recording;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let recording = Recording::new();
/// let session = recording.session("echo");
/// let (mut client, of_client) = duplex(1024);
/// let (of_server, server) = duplex(1024);
/// // A server that sends back what it is sent.
/// let echo = tokio::spawn(async move {
///     let (mut input, mut output) = tokio::io::split(server);
///     tokio::io::copy(&mut input, &mut output).await
/// });
/// let relay = tokio::spawn(async move {
///     let (client, server) = (tokio::io::split(of_client), tokio::io::split(of_server));
///     session.relay(client, server).await
/// });
/// client.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await?;
/// client.shutdown().await?;
/// client.read_to_end(&mut Vec::new()).await?;
/// relay.await??;
/// assert_eq!(recording.len(), 2);
/// # echo.abort();
/// # Ok(())
/// # }
/// ```
pub struct SessionRecorder {
    recording: Recording,
    server: String,
    connection: u64,
    schemas: Mutex<ToolSchemas>,
}

impl SessionRecorder {
    fn new(recording: Recording, server: &str, connection: u64) -> Self {
        let (server, schemas) = (server.to_owned(), Mutex::default());
        Self { recording, server, connection, schemas }
    }

    /// Passes each message of a client on to a server, and each of the server to the client, until
    /// the server's output ends. Both are pairs of an input, which is read, and an output. Where
    /// the client's input ends, the server's output is closed.
    ///
    /// A message is added to the recording before it is passed on. One of more than 64 MiB is an
    /// error.
    ///
    /// # Errors
    ///
    /// If the streams or the file of the recording fail.
    ///
    /// # Cancellation
    ///
    /// Dropping the future closes all streams. What was passed on is recorded.
    pub async fn relay<A, B, C, D>(&self, client: (A, B), server: (C, D)) -> io::Result<()>
    where
        A: AsyncRead + Unpin,
        B: AsyncWrite + Unpin,
        C: AsyncRead + Unpin,
        D: AsyncWrite + Unpin,
    {
        let sending = async {
            let sent = self.pass_on(Direction::Sent, client.0, server.1).await;
            match sent {
                // A server that does not read any more is about to end its output.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            received = self.pass_on(Direction::Received, server.0, client.1) => received,
            failed = sending => failed,
        }
    }

    /// Passes lines on until the input ends, and then closes the output.
    async fn pass_on<R, W>(&self, direction: Direction, input: R, mut output: W) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut input = BufReader::new(input);
        while let Some(line) = next_line(&mut input).await? {
            self.record(direction, &line).map_err(io::Error::other)?;
            output.write_all(&line).await?;
            output.flush().await?;
        }
        output.shutdown().await
    }

    fn record(&self, direction: Direction, line: &[u8]) -> Result<(), RecordingError> {
        match messages(line) {
            Ok(messages) => {
                for mut frame in messages {
                    let mut schemas = self.schemas.lock();
                    match direction {
                        Direction::Sent => schemas.hide(&mut frame),
                        Direction::Received => schemas.learn(&frame),
                    }
                    drop(schemas);
                    self.push(direction, frame, None)?;
                }
                Ok(())
            }
            Err(text) => self.push(direction, Value::Null, Some(text)),
        }
    }

    fn push(
        &self,
        direction: Direction,
        frame: Value,
        text: Option<String>,
    ) -> Result<(), RecordingError> {
        let (server, connection) = (self.server.clone(), self.connection);
        self.recording.push(RecordedEntry::Frame(FrameEntry {
            server,
            connection,
            direction,
            frame,
            text,
        }))
    }
}

impl Recording {
    /// Returns a recorder of a session with the server of a name.
    #[must_use]
    pub fn session(&self, server: &str) -> SessionRecorder {
        SessionRecorder::new(self.clone(), server, self.next_connection())
    }

    /// Returns a function that adds the frames of all servers of a box, for
    /// [`ServersBuilder::on_frame`](crate::mcp::ServersBuilder::on_frame).
    ///
    /// A frame that is longer than the limit on messages is left out. If the file cannot be
    /// written, the log says so (`tracing`), and the servers go on.
    ///
    /// ```no_run
    /// use toolbox::ToolBox;
    /// use toolbox::mcp::{ServerConfig, Servers};
    /// use toolbox::testing::Recording;
    ///
    /// # async fn record() -> Result<(), Box<dyn std::error::Error>> {
    /// let recording = Recording::create("tests/time.jsonl")?;
    /// let toolbox = ToolBox::new();
    /// let servers = Servers::builder()
    ///     .server("time", ServerConfig::command("uvx").arg("mcp-server-time"))
    ///     .on_frame(recording.on_frame())
    ///     .mount(&toolbox)
    ///     .await?;
    /// # drop(servers);
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_frame(&self) -> impl Fn(&Frame<'_>) + Send + Sync + 'static {
        let recording = self.clone();
        let sessions: Mutex<HashMap<(String, u64), Arc<SessionRecorder>>> = Mutex::default();
        move |frame| {
            let key = (frame.server.to_owned(), frame.connection);
            let new = || SessionRecorder::new(recording.clone(), frame.server, frame.connection);
            let session = Arc::clone(sessions.lock().entry(key).or_insert_with(|| Arc::new(new())));
            let direction = match frame.direction {
                FrameDirection::Sent => Direction::Sent,
                FrameDirection::Received => Direction::Received,
            };
            if frame.is_cut {
                tracing::warn!(server = frame.server, "a frame is too long to be recorded");
            } else if let Err(error) = session.record(direction, frame.bytes) {
                tracing::error!(server = frame.server, "a frame is not recorded: {error}");
            }
        }
    }
}

impl fmt::Debug for SessionRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionRecorder").field("server", &self.server).finish_non_exhaustive()
    }
}
