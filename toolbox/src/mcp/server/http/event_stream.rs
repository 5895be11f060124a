//! Server-sent events: the messages of a call as it runs, or those of a session.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::body::Frame;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep};

use super::event_log::EventReader;
use crate::context::CancellationToken;
use crate::mcp::server::answer::{Answer, LaterAnswer};

/// The time after which a client reconnects, in milliseconds.
const RETRY: u32 = 3000;

/// A request that is answered on its own connection: dropped, it is cancelled.
pub(super) struct LiveAnswer {
    /// `None` once it has ended.
    work: Option<LaterAnswer>,
    answer: Option<Answer>,
    outbox: mpsc::Receiver<Vec<u8>>,
    cancellation: CancellationToken,
}

/// A message on the way to an answer, or the answer.
pub(super) enum LiveMessage {
    Notification(Vec<u8>),
    Answer(Answer),
}

impl LiveAnswer {
    pub(super) fn new(
        work: LaterAnswer,
        outbox: mpsc::Receiver<Vec<u8>>,
        cancellation: CancellationToken,
    ) -> Self {
        Self { work: Some(work), answer: None, outbox, cancellation }
    }

    /// Waits for the next notification, or for the answer.
    pub(super) async fn next(&mut self) -> LiveMessage {
        std::future::poll_fn(|context| self.poll_message(context)).await
    }

    fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<LiveMessage> {
        if let Some(work) = &mut self.work
            && let Poll::Ready(answer) = work.as_mut().poll(context)
        {
            (self.work, self.answer) = (None, Some(answer));
        }
        // The work sent what it had to say before it ended.
        match self.outbox.poll_recv(context) {
            Poll::Ready(Some(note)) => Poll::Ready(LiveMessage::Notification(note)),
            _ => self
                .answer
                .take()
                .map_or(Poll::Pending, |answer| Poll::Ready(LiveMessage::Answer(answer))),
        }
    }
}

impl Drop for LiveAnswer {
    fn drop(&mut self) {
        if self.work.is_some() {
            self.cancellation.cancel();
        }
    }
}

enum Source {
    Live {
        first: Option<Vec<u8>>,
        answer: LiveAnswer,
        /// `true` once the answer is sent.
        is_done: bool,
    },
    Session {
        reader: EventReader,
        /// The number of the request's stream; `None` for that of the session.
        stream: Option<u64>,
        /// `true` until the event is sent that says where the stream begins.
        is_new: bool,
    },
    Empty,
}

/// The body of a response with events.
pub(super) struct EventStream {
    source: Source,
    keep_alive: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl EventStream {
    /// Returns the events of an answer that began with a notification.
    pub(super) fn live(first: Vec<u8>, answer: LiveAnswer, keep_alive: Duration) -> Self {
        let source = Source::Live { first: Some(first), answer, is_done: false };
        Self { source, keep_alive, timer: None }
    }

    /// Returns the events of a stream of a session.
    pub(super) fn session(
        reader: EventReader,
        stream: Option<u64>,
        is_new: bool,
        keep_alive: Duration,
    ) -> Self {
        let reader = if stream.is_none() { reader.staying_when_replaced() } else { reader };
        Self { source: Source::Session { reader, stream, is_new }, keep_alive, timer: None }
    }

    /// Returns a stream that ends at once, so that a client does not try again.
    pub(super) fn empty() -> Self {
        Self { source: Source::Empty, keep_alive: Duration::ZERO, timer: None }
    }

    pub(super) fn into_response(self) -> Response {
        let mut response = Response::new(Body::new(self));
        let headers = response.headers_mut();
        let event_stream = HeaderValue::from_static("text/event-stream");
        headers.insert(header::CONTENT_TYPE, event_stream);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }
}

impl Source {
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        match self {
            Self::Live { first, answer, is_done } => {
                if let Some(first) = first.take() {
                    return Poll::Ready(Some(event(&first, None)));
                }
                if *is_done {
                    return Poll::Ready(None);
                }
                let message = match ready!(answer.poll_message(context)) {
                    LiveMessage::Notification(note) => note,
                    LiveMessage::Answer(answer) => {
                        *is_done = true;
                        answer.message
                    }
                };
                Poll::Ready(Some(event(&message, None)))
            }
            Self::Session { reader, stream, is_new } => {
                let stream = *stream;
                let id = |number: usize| match stream {
                    Some(stream) => format!("{number}/{stream}"),
                    None => number.to_string(),
                };
                if std::mem::take(is_new) {
                    let first = format!("data: \nid: {}\nretry: {RETRY}\n\n", id(0));
                    return Poll::Ready(Some(first.into_bytes()));
                }
                let next = ready!(reader.poll_next(context));
                Poll::Ready(next.map(|(number, message)| event(&message, Some(&id(number)))))
            }
            Self::Empty => Poll::Ready(None),
        }
    }
}

/// Returns a message as an event. The JSON of a message contains no line break.
fn event(message: &[u8], id: Option<&str>) -> Vec<u8> {
    let mut event = Vec::with_capacity(message.len() + 32);
    event.extend_from_slice(b"data: ");
    event.extend_from_slice(message);
    if let Some(id) = id {
        event.extend_from_slice(b"\nid: ");
        event.extend_from_slice(id.as_bytes());
    }
    event.extend_from_slice(b"\n\n");
    event
}

impl HttpBody for EventStream {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        if let Poll::Ready(event) = this.source.poll_event(context) {
            this.timer = None;
            return Poll::Ready(event.map(|event| Ok(Frame::data(event.into()))));
        }
        let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(this.keep_alive)));
        if timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        timer.as_mut().reset(Instant::now() + this.keep_alive);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b":\n\n")))))
    }
}
