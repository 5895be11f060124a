//! The transport of stdio servers: one message per line, over any pair of streams.
//!
//! Unlike the SDK's transport, this one answers invalid input (a line that is not JSON, an
//! unreadable request, a line that is too long), ignores messages before the first request instead
//! of ending, and lets running calls finish when the input ends.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::io;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, GetExtensions,
    JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::in_flight::{self, InFlight};
use super::running::{CANCEL_TIMEOUT, ServiceActivity};
use super::text::{self, ArgumentsText};
use crate::text::{QUOTED, quote};

/// The maximum number of lines waiting to be written.
const WAITING_LINES: usize = 64;

/// The answer to an `initialize` without an id.
const NO_ID: &str = "`initialize` is a request: it needs an `id` that is a number or a string";

/// A line, and the channel that reports when it is written.
pub(super) type Outgoing = (Vec<u8>, Option<oneshot::Sender<()>>);

/// The sender of lines, and the receiver that ends when all of them are written, after the last
/// sender is dropped.
pub(super) type Output = (mpsc::Sender<Outgoing>, oneshot::Receiver<()>);

pub(super) struct LineTransport<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    max_bytes: usize,
    /// `true` while the rest of a line that is too long is skipped.
    is_discarding: bool,
    /// `true` once a request has arrived.
    is_open: bool,
    /// Requests that were read and not yet answered, started or not.
    unanswered: HashSet<RequestId>,
    /// The same, and cancelled ones until their calls have ended.
    in_flight: InFlight,
    /// The moment at which running calls are cancelled, after the input has ended.
    ends_at: Option<Instant>,
    replies: VecDeque<Vec<u8>>,
    output: Option<mpsc::Sender<Outgoing>>,
    running: ServiceActivity,
    grace: Duration,
}

enum LineRead {
    Line,
    TooLong,
    End,
}

impl<R: AsyncRead + Send + Unpin> LineTransport<R> {
    pub(super) fn new(
        input: R,
        output: mpsc::Sender<Outgoing>,
        max_bytes: usize,
        running: ServiceActivity,
        grace: Duration,
    ) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            max_bytes,
            is_discarding: false,
            is_open: false,
            unanswered: HashSet::new(),
            in_flight: InFlight::default(),
            ends_at: None,
            replies: VecDeque::new(),
            output: Some(output),
            running,
            grace,
        }
    }

    /// Reads to the end of a line. Cancel-safe: the next call continues.
    async fn read(&mut self) -> io::Result<LineRead> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(LineRead::End);
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

    fn refuse(&mut self, code: ErrorCode, message: impl Into<String>, id: Option<RequestId>) {
        // The SDK omits an unknown id, where JSON-RPC requires `null`.
        let reply = json!({
            "jsonrpc": "2.0",
            "id": id.map(RequestId::into_json_value),
            "error": {"code": code.0, "message": message.into()},
        });
        self.replies.push_back(line(&reply));
    }

    /// Parses the message of the line, or answers it with an error.
    fn message(&mut self) -> Option<ClientJsonRpcMessage> {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        if text.is_empty() {
            return None;
        }
        let (arguments, text) = match text::split(text, |_| false) {
            Some((arguments, rest)) => (Some(arguments), rest),
            None => (None, Cow::Borrowed(text)),
        };
        let message = match serde_json::from_slice(&text) {
            Ok(message) => Some(with(message, arguments)),
            Err(error) => {
                self.complain(&text, &error);
                None
            }
        };
        self.line = line;
        self.line.clear();
        message
    }

    /// Answers an invalid message, with the id of its request if that can be read.
    fn complain(&mut self, text: &[u8], error: &serde_json::Error) {
        #[derive(Deserialize)]
        struct Meant {
            id: Option<RequestId>,
            method: Option<Value>,
        }
        match serde_json::from_slice::<Meant>(text) {
            Ok(Meant { id: None, method: Some(method) }) if method == "initialize" => {
                self.refuse(ErrorCode::INVALID_REQUEST, NO_ID, None);
            }
            // Notifications are never answered.
            Ok(Meant { id: None, method: Some(_) }) => {}
            Ok(Meant { id, .. }) => {
                let error = quote(&error.to_string(), 4 * QUOTED);
                let message = format!("the request cannot be read: {error}");
                self.refuse(ErrorCode::INVALID_REQUEST, message, id);
            }
            Err(_) if text.first() == Some(&b'[') && error.is_data() => {
                let message = "batches are not part of the protocol: send one message a line";
                self.refuse(ErrorCode::INVALID_REQUEST, message, None);
            }
            Err(error) => {
                let error = quote(&error.to_string(), 4 * QUOTED);
                let message = format!("the line is not a JSON-RPC message: {error}");
                self.refuse(ErrorCode::PARSE_ERROR, message, None);
            }
        }
    }

    /// Returns whether a message is for the session: before the first request, all others are
    /// ignored.
    fn is_awaited(&mut self, message: &mut ClientJsonRpcMessage) -> bool {
        match message {
            // The SDK takes a handshake that it cannot read for an unknown method.
            JsonRpcMessage::Request(request) if is_handshake(&request.request) => {
                let message = "`initialize` needs `protocolVersion` (a string), `capabilities` and `clientInfo` with a `name` and a `version`";
                self.refuse(ErrorCode::INVALID_PARAMS, message, Some(request.id.clone()));
                return false;
            }
            JsonRpcMessage::Notification(note) if matches!(&note.notification, ClientNotification::CustomNotification(note) if note.method == "initialize") =>
            {
                let message =
                    "`initialize` is a request: it needs an `id` that is a number or a string";
                self.refuse(ErrorCode::INVALID_REQUEST, message, None);
                return false;
            }
            JsonRpcMessage::Request(request) => {
                self.is_open = true;
                let (slot, call) = self.in_flight.slot(String::new());
                if self.unanswered.contains(&request.id) || !slot.begin(request.id.clone()) {
                    // On one stream, an error under this id would be taken for the answer to the
                    // first request.
                    let error = in_flight::error(&request.id);
                    self.refuse(error.code, error.message, None);
                    return false;
                }
                self.unanswered.insert(request.id.clone());
                request.request.extensions_mut().insert(call);
            }
            JsonRpcMessage::Notification(note) => {
                // A cancelled request gets no answer.
                if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.unanswered.remove(id);
                }
            }
            _ => {}
        }
        self.is_open
    }
}

/// Returns whether a request is a handshake in a form that the SDK does not know.
fn is_handshake(request: &ClientRequest) -> bool {
    matches!(request, ClientRequest::CustomRequest(request) if request.method == "initialize")
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        match &message {
            JsonRpcMessage::Response(response) => drop(self.unanswered.take(&response.id)),
            JsonRpcMessage::Error(error) => {
                error.id.as_ref().and_then(|id| self.unanswered.take(id));
            }
            _ => {}
        }
        let output = self.output.clone();
        async move {
            let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the client reads no more");
            let (written, is_written) = oneshot::channel();
            let output = output.ok_or_else(gone)?;
            let line = (line(&message), Some(written));
            output.send(line).await.map_err(|_| gone())?;
            is_written.await.map_err(|_| gone())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let running = self.running.clone();
        loop {
            while !self.replies.is_empty() {
                let permit = self.output.as_ref()?.reserve().await.ok()?;
                permit.send((self.replies.pop_front().unwrap_or_default(), None));
            }
            if let Some(ends_at) = self.ends_at {
                // Subscriptions end; calls continue during the grace period. The service polls
                // again after each answer.
                running.closing().cancel();
                if !self.unanswered.is_empty() {
                    sleep_until(ends_at).await;
                    running.ending().cancel();
                    sleep_until(ends_at + CANCEL_TIMEOUT).await;
                }
                return None;
            }
            let read = tokio::select! {
                read = self.read() => read,
                () = running.closing().cancelled() => Ok(LineRead::End),
            };
            match read {
                Ok(LineRead::Line) => {
                    if let Some(mut message) = self.message()
                        && self.is_awaited(&mut message)
                    {
                        return Some(message);
                    }
                }
                Ok(LineRead::TooLong) => {
                    let message = format!("a message may hold {} bytes at most", self.max_bytes);
                    self.refuse(ErrorCode::INVALID_REQUEST, message, None);
                }
                Ok(LineRead::End) => self.ends_at = Some(Instant::now() + self.grace),
                Err(error) => {
                    tracing::warn!(%error, "the input cannot be read");
                    self.ends_at = Some(Instant::now() + self.grace);
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output = None;
        Ok(())
    }
}

/// Attaches the arguments of a call to its message.
fn with(mut message: ClientJsonRpcMessage, arguments: Option<String>) -> ClientJsonRpcMessage {
    if let (JsonRpcMessage::Request(request), Some(arguments)) = (&mut message, arguments) {
        request.request.extensions_mut().insert(ArgumentsText::from(arguments));
    }
    message
}

/// Serializes a message as a line. The JSON of serde contains no line break.
fn line(message: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec(message).unwrap_or_default();
    text.push(b'\n');
    text
}

/// Returns an output that is written by a task.
pub(super) fn to_stream<W: AsyncWrite + Send + Unpin + 'static>(output: W) -> Output {
    let (lines, waiting) = mpsc::channel(WAITING_LINES);
    let (ending, ended) = oneshot::channel();
    tokio::spawn(async move {
        let _ending = ending;
        write(output, waiting).await;
    });
    (lines, ended)
}

/// Returns an output that is written by a thread, which does not delay the end of the program.
pub(super) fn to_blocking<W: io::Write + Send + 'static>(mut output: W) -> Output {
    let (lines, mut waiting) = mpsc::channel::<Outgoing>(WAITING_LINES);
    let (ending, ended) = oneshot::channel();
    std::thread::spawn(move || {
        let _ending = ending;
        while let Some((line, written)) = waiting.blocking_recv() {
            if output.write_all(&line).and_then(|()| output.flush()).is_err() {
                return;
            }
            written.map(|written| written.send(()));
        }
    });
    (lines, ended)
}

/// Writes lines in order, and flushes when none is waiting.
async fn write<W: AsyncWrite + Unpin>(mut output: W, mut lines: mpsc::Receiver<Outgoing>) {
    let mut unflushed = Vec::new();
    while let Some((line, written)) = lines.recv().await {
        if output.write_all(&line).await.is_err() {
            return;
        }
        unflushed.extend(written);
        if lines.is_empty() {
            if output.flush().await.is_err() {
                return;
            }
            for written in unflushed.drain(..) {
                let _ = written.send(());
            }
        }
    }
    let _ = output.shutdown().await;
}
