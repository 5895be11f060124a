//! Connections to servers that are child processes: messages are lines on the standard streams.

mod child;
#[cfg(unix)]
mod guard;
mod lines;
mod marked;
mod output;
#[cfg(target_os = "linux")]
mod tree;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio::time::Instant;

pub(super) use child::Child;
use lines::{ChildLine, ChildLines};
pub(super) use output::ChildOutput;

use super::envelope::{MessageReader, in_envelope};
use super::notifications::Notifications;
use crate::mcp::frames::FrameDirection;

/// The standard streams of a child, as a transport of rmcp.
pub(super) struct Stdio {
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    lines: ChildLines<ChildStdout>,
    reader: MessageReader,
    /// Messages of a list that are still to be handed on.
    ready: VecDeque<ServerJsonRpcMessage>,
    /// The pending discovery request: the server may be one that leaves unknown requests
    /// unanswered.
    probe: Option<(RequestId, Instant)>,
    patience: Duration,
    notifications: Arc<Notifications>,
}

impl Stdio {
    /// Returns the transport over a child's streams.
    ///
    /// A line longer than `max_line` bytes is skipped. A server that leaves the discovery request
    /// unanswered for `patience` is sent the older handshake as well; if it was only slow, its
    /// answer to the discovery still counts.
    pub(super) fn new(
        (stdin, stdout): (ChildStdin, ChildStdout),
        output: Arc<ChildOutput>,
        max_line: usize,
        patience: Duration,
        notifications: Arc<Notifications>,
    ) -> Self {
        Self {
            stdin: Arc::new(Mutex::new(Some(stdin))),
            lines: ChildLines::new(stdout, max_line, output),
            reader: MessageReader::new(Arc::clone(&notifications), in_envelope),
            ready: VecDeque::new(),
            probe: None,
            patience,
            notifications,
        }
    }

    /// Answers the discovery request in place of the server.
    fn give_up_probe(&mut self, id: &RequestId) -> ServerJsonRpcMessage {
        self.probe = None;
        self.reader.give_up(id);
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
            // rmcp gives up the discovery after 10 seconds as well.
            if let Some((id, _)) = self.probe.take() {
                self.reader.give_up(&id);
            }
            self.notifications.link.handshake(&request.id, &request.request);
            self.reader.expect(&request.id, &request.request);
            if matches!(request.request, ClientRequest::DiscoverRequest(_)) {
                self.probe = Some((request.id.clone(), Instant::now() + self.patience));
            }
        }
        // The end of the older handshake, of which the server knows nothing.
        let is_unknown = self.reader.replaced_handshake()
            && matches!(&item, ClientJsonRpcMessage::Notification(sent)
                if matches!(sent.notification, ClientNotification::InitializedNotification(_)));
        let is_first = matches!(&item, ClientJsonRpcMessage::Request(sent)
        if matches!(
            sent.request,
            ClientRequest::DiscoverRequest(_) | ClientRequest::InitializeRequest(_)
        ));
        let stdin = Arc::clone(&self.stdin);
        let line = serde_json::to_vec(&item);
        if let Ok(line) = &line
            && !is_unknown
        {
            // Before it is written, since the answer may be faster than this task.
            self.notifications.frame(FrameDirection::Sent, line);
        }
        async move {
            let mut line = line?;
            if is_unknown {
                return Ok(());
            }
            line.push(b'\n');
            let sent = match &mut *stdin.lock().await {
                Some(stdin) => write(stdin, &line).await,
                None => Err(io::ErrorKind::BrokenPipe.into()),
            };
            match sent {
                // A child that ended at once: what it printed is still to be read, then its end.
                Err(error) if is_first && error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                sent => sent,
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.ready.pop_front() {
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
                self.notifications.ended();
                return None;
            };
            match line {
                ChildLine::Whole(line) => {
                    if !line.trim_ascii().is_empty() {
                        self.notifications.frame(FrameDirection::Received, &line);
                    }
                    self.ready.extend(self.reader.read(&line));
                }
                ChildLine::TooLong { head, tail } => {
                    self.notifications.cut_frame(&head);
                    self.ready.extend(self.reader.too_long(&head, &tail));
                }
            }
        }
    }

    /// Closes the child's input, which asks it to exit; its supervisor handles the child itself.
    async fn close(&mut self) -> Result<(), io::Error> {
        self.notifications.ended();
        // A blocked write holds the lock; the supervisor's signals end the child then.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            stdin.take();
        }
        Ok(())
    }
}

async fn write(stdin: &mut ChildStdin, line: &[u8]) -> io::Result<()> {
    stdin.write_all(line).await?;
    stdin.flush().await
}
