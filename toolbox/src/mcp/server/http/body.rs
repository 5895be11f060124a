//! Bodies of requests and responses over HTTP, with their limits.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use super::share::RequestGuards;
use crate::mcp::count::CountGuard;
use crate::mcp::server::in_flight::Slot;
use crate::mcp::server::shared::ServiceShared;
use crate::mcp::server::text::{ArgumentsText, split};

/// A request body with a time limit, whose call arguments are taken out.
pub(super) struct Incoming {
    body: Option<Body>,
    read: Vec<u8>,
    timeout: Pin<Box<Sleep>>,
    is_late: Arc<AtomicBool>,
    arguments: ArgumentsText,
    /// The slot of the session's request, whose id has to be free.
    slot: Option<Slot>,
    /// Called once the body is complete.
    whole: Option<Box<dyn FnOnce() + Send>>,
    shared: Arc<ServiceShared>,
}

impl Incoming {
    pub(super) fn new(
        body: Body,
        is_late: &Arc<AtomicBool>,
        arguments: ArgumentsText,
        slot: Option<Slot>,
        shared: &Arc<ServiceShared>,
    ) -> Self {
        Self {
            body: Some(body),
            read: Vec::new(),
            timeout: Box::pin(sleep(shared.options.http.read_timeout)),
            is_late: Arc::clone(is_late),
            arguments,
            slot,
            whole: None,
            shared: Arc::clone(shared),
        }
    }

    /// Sets the function to call once the body is complete.
    pub(super) fn then(mut self, whole: Option<impl FnOnce() + Send + 'static>) -> Self {
        self.whole = whole.map(|whole| -> Box<dyn FnOnce() + Send> { Box::new(whole) });
        self
    }

    /// Returns the message for the SDK.
    fn message(&mut self) -> Bytes {
        let read = std::mem::take(&mut self.read);
        let listing = self.shared.listing();
        let Some((arguments, rest)) = split(&read, |tool| {
            listing.get(tool).is_some_and(|tool| {
                tool.definition().input_schema.to_string().contains("x-mcp-header")
            })
        }) else {
            return read.into();
        };
        self.arguments.set(arguments);
        let rest = rest.into_owned();
        rest.into()
    }
}

impl HttpBody for Incoming {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        while let Some(body) = &mut self.body {
            match Pin::new(body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    self.read.extend_from_slice(&data);
                    if self.read.len() > self.shared.options.max_message_bytes {
                        // The reader refuses it for its length.
                        self.body = None;
                        let read = std::mem::take(&mut self.read);
                        return Poll::Ready(Some(Ok(Frame::data(read.into()))));
                    }
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => {
                    self.body = None;
                    if let Some(whole) = self.whole.take() {
                        whole();
                    }
                    if self.slot.take().is_some_and(|slot| !slot.read(&self.read)) {
                        let error = axum::Error::new("the id is taken");
                        return Poll::Ready(Some(Err(error)));
                    }
                    return Poll::Ready(Some(Ok(Frame::data(self.message()))));
                }
                Poll::Pending => {
                    ready!(self.timeout.as_mut().poll(context));
                    self.is_late.store(true, Ordering::Relaxed);
                    let error = axum::Error::new("the body did not come in time");
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        Poll::Ready(None)
    }
}

/// A response body that is counted until it has been sent, and that may have to end at some time.
pub(super) struct Outgoing {
    body: Body,
    end: Option<Pin<Box<Sleep>>>,
    _count: Option<CountGuard>,
    _slot: Option<Slot>,
    _held: Arc<Mutex<RequestGuards>>,
}

impl Outgoing {
    pub(super) fn new(
        body: Body,
        count: Option<CountGuard>,
        slot: Option<Slot>,
        guards: Arc<Mutex<RequestGuards>>,
        ends_in: Option<Duration>,
    ) -> Self {
        let end = ends_in.map(|time| Box::pin(sleep(time)));
        Self { body, end, _count: count, _slot: slot, _held: guards }
    }
}

impl HttpBody for Outgoing {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(end) = &mut self.end
            && end.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
