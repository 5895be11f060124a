//! A server that is a child process: its messages as lines on its standard streams.

mod child;
#[cfg(unix)]
mod guard;
mod lines;
mod marked;
#[cfg(target_os = "linux")]
mod tree;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio::time::Instant;

pub(super) use child::Child;
use lines::{Line, Lines};

use super::envelope::{Reader, in_envelope};
use super::inbox::Inbox;

/// The two streams of a child, as rmcp takes them.
pub(super) struct Stdio {
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    lines: Lines<ChildStdout>,
    reader: Reader,
    /// The question whether the server speaks the newer protocol: it may be one that answers no unknown request.
    probe: Option<(RequestId, Instant)>,
    patience: Duration,
    inbox: Arc<Inbox>,
}

impl Stdio {
    /// Returns the transport over a child's streams.
    ///
    /// A line longer than `max_line` bytes is skipped. A server that leaves the first question unanswered for `patience` is
    /// taken for an older one.
    pub(super) fn new(
        stdin: ChildStdin,
        stdout: ChildStdout,
        max_line: usize,
        patience: Duration,
        inbox: Arc<Inbox>,
    ) -> Self {
        Self {
            stdin: Arc::new(Mutex::new(Some(stdin))),
            lines: Lines::new(stdout, max_line),
            reader: Reader::new(Arc::clone(&inbox), in_envelope),
            probe: None,
            patience,
            inbox,
        }
    }

    /// Answers the probe in the server's place.
    fn give_up_probe(&mut self, id: &RequestId) -> ServerJsonRpcMessage {
        self.probe = None;
        self.reader.forget(id);
        let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "no answer", None);
        ServerJsonRpcMessage::error(error, Some(id.clone()))
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        if let ClientJsonRpcMessage::Request(request) = &item {
            // rmcp gives the probe up by itself as well, after 10 seconds; an answer that comes later is a stray one.
            if let Some((id, _)) = self.probe.take() {
                self.reader.forget(&id);
            }
            self.reader.expect(&request.id, &request.request);
            if matches!(request.request, ClientRequest::DiscoverRequest(_)) {
                self.probe = Some((request.id.clone(), Instant::now() + self.patience));
            }
        }
        let stdin = Arc::clone(&self.stdin);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            match &mut *stdin.lock().await {
                Some(stdin) => {
                    stdin.write_all(&line).await?;
                    stdin.flush().await
                }
                None => Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let line = match &self.probe {
                None => self.lines.next().await,
                Some((id, until)) => {
                    let id = id.clone();
                    match tokio::time::timeout_at(*until, self.lines.next()).await {
                        Ok(line) => line,
                        Err(_) => return Some(self.give_up_probe(&id)),
                    }
                }
            };
            let Some(line) = line else {
                self.inbox.ended();
                return None;
            };
            let message = match line {
                Line::Whole(line) => self.reader.read(&line),
                Line::TooLong { head, tail } => self.reader.too_long(&head, &tail),
            };
            if let Some(message) = message {
                let answers_probe = |(id, _): &(RequestId, Instant)| match &message {
                    ServerJsonRpcMessage::Response(response) => response.id == *id,
                    ServerJsonRpcMessage::Error(error) => error.id.as_ref() == Some(id),
                    _ => false,
                };
                if self.probe.as_ref().is_some_and(answers_probe) {
                    self.probe = None;
                }
                return Some(message);
            }
        }
    }

    /// Closes the child's input, which asks it to end; the child itself is seen to by its keeper.
    async fn close(&mut self) -> Result<(), io::Error> {
        self.inbox.ended();
        // A write that hangs holds the lock; the keeper's signals end the child then.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            stdin.take();
        }
        Ok(())
    }
}
