//! The transport over streams: one message per line.
//!
//! Invalid input is answered and survived, running calls may end when the input does, and nothing
//! waits for a client that does not read.

use std::io;
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::answer::{LaterAnswer, Reply};
use super::batch::{self, BatchAnswers};
use super::changes;
use super::client_requests::{ClientRequests, parsed};
use super::exchange::{Exchange, PeerIdentity};
use super::open_requests::{OpenRequest, OpenRequests};
use super::outlet::Outlet;
use super::protocol::{ErrorCode, Message, ProtocolError, RequestFrame, error_message};
use super::requests::respond;
use super::running::{CANCEL_TIMEOUT, ServiceActivity};
use super::session::{Lifecycle, Notified};
use super::shared::ServiceShared;
use crate::event::McpSide;
use crate::future::{BoxFuture, spawn};
use crate::mcp::telemetry::{Network, SessionTimer};
use crate::text::without_mark;

/// The maximum number of lines waiting to be written.
const WAITING_LINES: usize = 64;

/// The number of bytes that are written at once, and kept for the next line.
const BUFFER: usize = 64 << 10;

/// The input of a connection. Boxed, so that connections over all kinds of streams are one type.
pub(super) type BoxedInput = Box<dyn AsyncRead + Send + Unpin>;

/// The output of a connection: a queue of messages, which are written as lines.
pub(super) struct LineOutput {
    queue: mpsc::Sender<Vec<u8>>,
    /// Ends when all lines are written, after the last sender of the queue is dropped.
    written: oneshot::Receiver<()>,
    writer: Option<AbortHandle>,
    network: Network<'static>,
}

/// A client on a pair of streams.
pub(super) struct LineConnection {
    shared: Arc<ServiceShared>,
    running: ServiceActivity,
    input: LineReader,
    output: LineOutput,
    lifecycle: Lifecycle,
    /// `true` once the client is notified of changes.
    hears_changes: bool,
    open: OpenRequests,
    /// The requests of this server to the client.
    requests: ClientRequests,
    /// Calls and subscriptions.
    tasks: JoinSet<()>,
    /// The session of a client that made the handshake.
    session: SessionTimer,
}

/// A request that was begun: its answer, or what will be.
enum Begun {
    Now(Vec<u8>),
    Later(OpenRequest, LaterAnswer),
}

impl LineConnection {
    pub(super) fn new(
        shared: Arc<ServiceShared>,
        running: ServiceActivity,
        input: BoxedInput,
        output: LineOutput,
    ) -> Self {
        let input = LineReader::new(input, shared.options.max_message_bytes);
        Self {
            shared,
            running,
            input,
            output,
            lifecycle: Lifecycle::default(),
            hears_changes: false,
            open: OpenRequests::default(),
            requests: ClientRequests::default(),
            tasks: JoinSet::new(),
            session: SessionTimer::default(),
        }
    }

    /// Serves until the input ends or the service closes, and then for the grace period.
    pub(super) fn serve(self) -> BoxFuture<'static, ()> {
        let running = self.running.clone();
        Box::pin(async move {
            self.serve_all(&running).await;
            running.settle().await;
        })
    }

    async fn serve_all(mut self, running: &ServiceActivity) {
        let _connection = running.connection();
        tokio::select! {
            () = self.read_all() => {}
            () = running.closing().cancelled() => {}
        }
        // Subscriptions end; calls continue during the grace period.
        running.closing().cancel();
        let Self { shared, output, mut tasks, .. } = self;
        if timeout(shared.options.grace, ended(&mut tasks)).await.is_err() {
            running.ending().cancel();
            let _ = timeout(CANCEL_TIMEOUT, ended(&mut tasks)).await;
        }
        drop(tasks);
        output.finish().await;
    }

    async fn read_all(&mut self) {
        loop {
            let read = tokio::select! {
                read = self.input.read() => read,
                Some(_) = self.tasks.join_next() => continue,
            };
            let answer = match read {
                Ok(LineRead::Line) => {
                    let line = self.input.take();
                    let answer = self.answer(&line);
                    self.input.give_back(line);
                    answer
                }
                Ok(LineRead::TooLong) => {
                    let message =
                        format!("a message may hold {} bytes at most", self.input.max_bytes);
                    let error = ProtocolError::new(ErrorCode::InvalidRequest, message);
                    Some(error_message(None, &error))
                }
                Ok(LineRead::End) => return,
                Err(error) => {
                    tracing::warn!(%error, "the input cannot be read");
                    return;
                }
            };
            if let Some(answer) = answer
                && self.output.queue.send(answer).await.is_err()
            {
                return;
            }
        }
    }

    /// Returns the answer to a line, if it has one at once.
    fn answer(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let text = message_of(line);
        if text.is_empty() {
            return None;
        }
        if text.starts_with(b"[") && self.lifecycle.has_batches() {
            return self.batch(text);
        }
        match Message::read(text) {
            Ok(Message::Request(request)) => match self.request(&request) {
                Begun::Now(answer) => Some(answer),
                Begun::Later(open, answer) => {
                    let queue = self.output.queue.clone();
                    self.spawn(Box::pin(async move {
                        let answer = answer.await;
                        if open.finish() {
                            let _ = queue.send(answer.message).await;
                        }
                    }));
                    None
                }
            },
            Ok(message) => {
                self.take(message);
                None
            }
            Err(fault) => Some(error_message(fault.id.as_ref(), &fault.error)),
        }
    }

    /// Returns the answers to a batch, if it has them at once.
    fn batch(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        let messages = match batch::messages(text) {
            Ok(messages) => messages,
            Err(error) => return Some(error_message(None, &error)),
        };
        let mut answers = BatchAnswers::default();
        for message in messages {
            match message {
                Ok(Message::Request(request)) => match batch::check(&request) {
                    Ok(()) => match self.request(&request) {
                        Begun::Now(answer) => answers.now(answer),
                        Begun::Later(open, answer) => answers.later(open, answer),
                    },
                    Err(error) => answers.now(error_message(Some(&request.id), &error)),
                },
                Ok(message) => self.take(message),
                Err(fault) => answers.fault(&fault),
            }
        }
        if answers.is_ready() {
            return answers.list();
        }
        let queue = self.output.queue.clone();
        self.spawn(Box::pin(async move {
            if let Some(list) = answers.all().await {
                let _ = queue.send(list).await;
            }
        }));
        None
    }

    /// Takes a message that has no answer.
    fn take(&mut self, message: Message<'_>) {
        match message {
            Message::Notification { method, params } => self.notification(&method, params),
            Message::Response { id, result } => self.requests.answer(&id, parsed(result)),
            Message::Request(_) | Message::Ignored => {}
        }
    }

    fn request(&mut self, request: &RequestFrame<'_>) -> Begun {
        let cancellation = self.running.ending().child_token();
        let open = match self.open.begin(&request.id, &cancellation) {
            Ok(open) => open,
            // On one stream, an error under this id would be taken for the answer to the first
            // request.
            Err(error) => return Begun::Now(error_message(None, &error)),
        };
        let meta = match request.meta() {
            Ok(meta) => meta,
            Err(error) => return Begun::Now(error_message(Some(&request.id), &error)),
        };
        let exchange = Exchange {
            shared: &self.shared,
            running: &self.running,
            lifecycle: &mut self.lifecycle,
            peer: &PeerIdentity { network: self.output.network, ..PeerIdentity::default() },
            outlet: &self.output.outlet(),
            requests: &self.requests,
            cancellation,
        };
        let reply = respond(exchange, request, meta);
        if request.method == "initialize"
            && let Lifecycle::Handshake(handshake) = &self.lifecycle
        {
            let (reporter, version) = (self.shared.reporter.as_ref(), handshake.version.as_str());
            let network = self.output.network;
            self.session = SessionTimer::begin(reporter, McpSide::Server, Some(version), network);
        }
        match reply {
            Reply::Now(answer) => Begun::Now(answer.message),
            Reply::Later(answer) => Begun::Later(open, answer),
        }
    }

    fn notification(&mut self, method: &str, params: Option<&RawValue>) {
        match (Notified::read(method, params), &self.lifecycle) {
            (Notified::Cancelled(id), _) => self.open.cancel(&id),
            (Notified::Initialized, Lifecycle::Handshake(handshake)) if !self.hears_changes => {
                self.hears_changes = true;
                let (outlet, closing) = (self.output.outlet(), self.running.closing());
                let (handshake, closing) = (Arc::clone(handshake), closing.clone());
                let identity = PeerIdentity::default().context();
                let tell =
                    changes::tell_session(&self.shared, handshake, identity, outlet, closing);
                self.spawn(tell);
            }
            _ => {}
        }
    }

    fn spawn(&mut self, task: BoxFuture<'static, ()>) {
        self.tasks.spawn(task);
    }
}

/// Returns the message in a line; empty if it is blank.
pub(super) fn message_of(line: &[u8]) -> &[u8] {
    without_mark(line.trim_ascii())
}

async fn ended(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

struct LineReader {
    input: BufReader<BoxedInput>,
    line: Vec<u8>,
    max_bytes: usize,
    /// `true` while the rest of a line that is too long is skipped.
    is_discarding: bool,
}

enum LineRead {
    Line,
    TooLong,
    End,
}

impl LineReader {
    fn new(input: BoxedInput, max_bytes: usize) -> Self {
        let input = BufReader::new(input);
        Self { input, line: Vec::new(), max_bytes, is_discarding: false }
    }

    /// Reads to the end of a line. Cancel-safe: the next call continues.
    async fn read(&mut self) -> io::Result<LineRead> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                // The last line may lack its end; half a message is none.
                let is_whole = serde_json::from_slice::<IgnoredAny>(&self.line).is_ok();
                let is_line = is_whole && !std::mem::take(&mut self.is_discarding);
                return Ok(if is_line { LineRead::Line } else { LineRead::End });
            }
            let newline = memchr::memchr(b'\n', available);
            let taken = newline.map_or(available.len(), |at| at + 1);
            let is_too_long = !self.is_discarding && self.line.len() + taken > self.max_bytes;
            if !self.is_discarding && !is_too_long {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(taken);
            if is_too_long {
                self.line = Vec::new();
                self.is_discarding = newline.is_none();
                return Ok(LineRead::TooLong);
            }
            if newline.is_some() && !std::mem::take(&mut self.is_discarding) {
                return Ok(LineRead::Line);
            }
        }
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.line)
    }

    /// Takes the memory of a line back, unless it was a large one.
    fn give_back(&mut self, mut line: Vec<u8>) {
        if line.capacity() <= BUFFER {
            line.clear();
            self.line = line;
        }
    }
}

impl LineOutput {
    /// Returns an output that is written by a task.
    pub(super) fn to_stream<W: AsyncWrite + Send + Unpin + 'static>(output: W) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING_LINES);
        let (ending, written) = oneshot::channel();
        let writer = spawn(Box::pin(async move {
            let _ending = ending;
            write(output, waiting).await;
        }));
        let writer = Some(writer.abort_handle());
        Self { queue, written, writer, network: Network::default() }
    }

    /// Returns standard output, or a writer in its place. A thread writes it, which does not delay
    /// the end of the program.
    pub(super) fn to_blocking(mut output: Box<dyn io::Write + Send>) -> Self {
        let (queue, mut waiting) = mpsc::channel(WAITING_LINES);
        let (ending, written) = oneshot::channel();
        std::thread::spawn(move || {
            let _ending = ending;
            while let Some(mut lines) = waiting.blocking_recv() {
                end_line(&mut lines, &mut waiting);
                if output.write_all(&lines).and_then(|()| output.flush()).is_err() {
                    return;
                }
            }
        });
        Self { queue, written, writer: None, network: Network::PIPE }
    }

    /// Returns the sender of messages that belong to requests.
    fn outlet(&self) -> Outlet {
        Outlet::Queue(self.queue.clone())
    }

    /// Waits until everything is written, but not for long: the client may not read.
    async fn finish(self) {
        let Self { queue, written, writer, .. } = self;
        drop(queue);
        if timeout(CANCEL_TIMEOUT, written).await.is_err()
            && let Some(writer) = writer
        {
            writer.abort();
        }
    }
}

/// Ends a line, and appends those that wait already, up to the size of one write. The JSON of serde
/// contains no line break.
fn end_line(lines: &mut Vec<u8>, waiting: &mut mpsc::Receiver<Vec<u8>>) {
    lines.push(b'\n');
    while lines.len() < BUFFER
        && let Ok(line) = waiting.try_recv()
    {
        lines.extend_from_slice(&line);
        lines.push(b'\n');
    }
}

/// Writes lines in order, and flushes when none is waiting.
async fn write<W: AsyncWrite + Unpin>(mut output: W, mut waiting: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut lines) = waiting.recv().await {
        end_line(&mut lines, &mut waiting);
        if output.write_all(&lines).await.is_err()
            || waiting.is_empty() && output.flush().await.is_err()
        {
            return;
        }
    }
    let _ = output.shutdown().await;
}
