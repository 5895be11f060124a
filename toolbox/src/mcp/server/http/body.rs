//! Bodies of requests and responses over HTTP, with their limits.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use super::share::RequestGuards;
use crate::mcp::count::CountGuard;

/// The reason why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFault {
    TooLarge,
    Late,
    /// The connection failed.
    Broken,
}

/// Reads a body of at most `limit` bytes, within `time`.
pub(super) async fn read(body: Body, limit: usize, time: Duration) -> Result<Bytes, BodyFault> {
    if body.size_hint().lower() > limit as u64 {
        return Err(BodyFault::TooLarge);
    }
    let mut body = pin!(body);
    let mut whole = Bytes::new();
    // Most bodies come with their heads, and need no timer.
    let mut late: Option<Pin<Box<Sleep>>> = None;
    std::future::poll_fn(|context| {
        loop {
            let data = match body.as_mut().poll_frame(context) {
                Poll::Ready(None) => return Poll::Ready(Ok(std::mem::take(&mut whole))),
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(BodyFault::Broken)),
                Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
                Poll::Pending => {
                    let late = late.get_or_insert_with(|| Box::pin(sleep(time)));
                    ready!(late.as_mut().poll(context));
                    return Poll::Ready(Err(BodyFault::Late));
                }
            };
            if whole.len() + data.len() > limit {
                return Poll::Ready(Err(BodyFault::TooLarge));
            }
            if whole.is_empty() {
                whole = data;
            } else {
                let mut both = Vec::from(std::mem::take(&mut whole));
                both.extend_from_slice(&data);
                whole = both.into();
            }
        }
    })
    .await
}

/// A response body that is counted until it has been sent, and that may have to end at some time.
pub(super) struct Outgoing {
    body: Body,
    end: Option<Pin<Box<Sleep>>>,
    _count: Option<CountGuard>,
    _guards: RequestGuards,
}

impl Outgoing {
    pub(super) fn new(
        body: Body,
        count: Option<CountGuard>,
        guards: RequestGuards,
        ends_in: Option<Duration>,
    ) -> Self {
        let end = ends_in.map(|time| Box::pin(sleep(time)));
        Self { body, end, _count: count, _guards: guards }
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
