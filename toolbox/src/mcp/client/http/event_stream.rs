//! The events of one response, as messages for rmcp.

use std::collections::VecDeque;

use futures_util::stream::{BoxStream, unfold};
use reqwest::Response;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::Sse;

use super::client::HttpTransport;
use super::events::{SseEvent, SseParser};
use crate::mcp::client::envelope::MessageReader;
use crate::mcp::frames::FrameDirection;

/// What rmcp reads of a stream.
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The minimum delay before a stream is resumed, in milliseconds, whatever the server asks for.
const SOONEST: u64 = 100;

/// The event stream of one response.
pub(super) struct EventStream {
    transport: HttpTransport,
    response: Option<Response>,
    parser: SseParser,
    reader: MessageReader,
    last: Option<String>,
    /// What was read and not yet handed on.
    ready: VecDeque<Sse>,
    /// Events that were read ahead.
    held: VecDeque<Result<Sse, SseError>>,
    /// `true` after an event of the old transport, which ends the stream.
    pub(super) is_old: bool,
}

impl EventStream {
    /// Returns the stream of a response, opened after the event `last` if it is one that goes on.
    pub(super) fn new(
        transport: HttpTransport,
        response: Response,
        reader: MessageReader,
        last: Option<String>,
    ) -> Self {
        Self {
            parser: SseParser::new(transport.max_message),
            transport,
            response: Some(response),
            reader,
            last,
            ready: VecDeque::new(),
            held: VecDeque::new(),
            is_old: false,
        }
    }

    pub(super) fn boxed(self) -> Events {
        Box::pin(unfold(self, |mut stream| async {
            let event = match stream.held.pop_front() {
                Some(event) => Some(event),
                None => stream.next().await,
            };
            event.map(|event| (event, stream))
        }))
    }

    /// Returns the answer if it is the first message of the stream; else the stream goes on as if
    /// nothing had been read.
    pub(super) async fn first_is_answer(&mut self) -> Option<ServerJsonRpcMessage> {
        while let Some(event) = self.next().await {
            let data = event.as_ref().ok().and_then(|event| event.data.as_deref());
            if let Some(data) = data
                && self.reader.is_done()
                && let Ok(answer) = serde_json::from_str(data)
                && is_answer(&answer)
            {
                return Some(answer);
            }
            let goes_on = event.as_ref().is_ok_and(|event| event.data.is_none());
            self.held.push_back(event);
            if !goes_on {
                break;
            }
        }
        None
    }

    async fn next(&mut self) -> Option<Result<Sse, SseError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            while !self.is_old
                && let Some(event) = self.parser.next()
            {
                self.read(event);
                if let Some(event) = self.ready.pop_front() {
                    return Some(Ok(event));
                }
            }
            if self.is_old {
                return None;
            }
            if self.parser.is_over() {
                self.response.take()?;
                return self
                    .reader
                    .cut_off()
                    .map(|message| Ok(with_message(&message, Sse::default())));
            }
            let Some(response) = &mut self.response else {
                self.park();
                return None;
            };
            match response.chunk().await {
                Ok(Some(bytes)) => self.parser.feed(&bytes),
                Ok(None) => {
                    self.response = None;
                    self.parser.end();
                }
                Err(error) => {
                    self.response = None;
                    self.park();
                    return Some(Err(SseError::Body(Box::new(error.without_url()))));
                }
            }
        }
    }

    /// Converts an event for rmcp: valid messages, or the data to resume the stream.
    fn read(&mut self, event: SseEvent) {
        self.is_old |= event.is_endpoint();
        let is_message = event.is_message();
        let mut sse = Sse { id: event.id.filter(|id| !id.is_empty()), ..Sse::default() };
        sse.retry = event.retry.map(|retry| retry.max(SOONEST));
        if sse.id.is_some() {
            self.last.clone_from(&sse.id);
        }
        let data = event.data.filter(|_| is_message);
        let received = |data: Vec<u8>| {
            self.transport.notifications.frame(FrameDirection::Received, &data);
            self.reader.read(&data)
        };
        let messages = data.map(received).unwrap_or_default();
        if messages.is_empty() && sse != Sse::default() {
            self.ready.push_back(sse);
            return;
        }
        for message in messages {
            self.ready.push_back(with_message(&message, sse.clone()));
        }
    }

    /// Keeps the pending requests if the stream can be resumed.
    fn park(&mut self) {
        if let Some(last) = self.last.take().filter(|_| !self.reader.is_done()) {
            let reader = std::mem::replace(&mut self.reader, self.transport.reader());
            self.transport.park(last, reader);
        }
    }
}

/// Returns `true` for an answer to a request.
pub(super) fn is_answer(message: &ServerJsonRpcMessage) -> bool {
    matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_))
}

fn with_message(message: &ServerJsonRpcMessage, mut sse: Sse) -> Sse {
    sse.data = serde_json::to_string(message).ok();
    sse
}
