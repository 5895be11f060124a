//! The answer to a request: a stream of server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use serde_json::Value;
use tokio::time::Sleep;
use toolbox::agent::{RunError, RunEvents, RunOutcome};

use crate::paused::{PausedRuns, ThreadKey};
use crate::piece::Piece;
use crate::tracker::Tracker;

/// Writes pieces in the form of a protocol: the documents of events, in order.
pub(crate) trait Writer: Send {
    fn write(&mut self, piece: Piece, documents: &mut Vec<Value>);

    /// Returns the frame behind the last event, if there is one.
    fn last(&self) -> Option<&'static str> {
        None
    }
}

/// What is sent while nothing happens: a comment, which readers of such streams skip.
const KEEP_ALIVE: &str = ": keep-alive\n\n";

type Outcome = Pin<Box<dyn Future<Output = Result<RunOutcome, RunError>> + Send>>;

enum RunState {
    Running(Box<RunEvents>),
    Ending(Outcome),
    Ended,
}

/// The answer to a request of a front end: server-sent events, one an item.
///
/// A stream of `Result<String, Infallible>`, as `axum::body::Body::from_stream` takes it; or ask
/// for the [`next`](Self::next) frame. The last says how the run ended, also where it failed.
///
/// The run goes on while frames are asked for, and stands still in between: a front end that does
/// not read holds it up where it waits next, for its model or a tool. While it waits, a comment is
/// sent every [15 seconds](crate::WebAgent::keep_alive), since proxies end streams that are silent.
///
/// # Cancellation
///
/// Dropping it ends the run, as an HTTP server does when the front end disconnects.
#[must_use = "a run goes on only while its frames are asked for"]
pub struct Frames {
    state: RunState,
    tracker: Tracker,
    writer: Box<dyn Writer>,
    ready: VecDeque<String>,
    paused: PausedRuns,
    key: ThreadKey,
    keep_alive: Duration,
    /// The time of the next comment, while nothing happens.
    silence: Option<Pin<Box<Sleep>>>,
}

impl Frames {
    pub(crate) fn new(
        events: RunEvents,
        tracker: Tracker,
        writer: Box<dyn Writer>,
        (paused, key): (PausedRuns, ThreadKey),
        keep_alive: Duration,
    ) -> Self {
        let (state, ready) = (RunState::Running(Box::new(events)), VecDeque::new());
        let silence = None;
        let mut frames = Self { state, tracker, writer, ready, paused, key, keep_alive, silence };
        frames.put(vec![Piece::Begin]);
        frames
    }

    /// Waits for the next frame, `data: …` or a comment with an empty line; `None` behind the last.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses no frame.
    pub async fn next(&mut self) -> Option<String> {
        poll_fn(|context| self.poll_frame(context)).await
    }

    fn put(&mut self, pieces: Vec<Piece>) {
        let mut documents = Vec::new();
        for piece in pieces {
            self.writer.write(piece, &mut documents);
        }
        // JSON has no line break, so that a document is one line.
        self.ready.extend(documents.iter().map(|document| format!("data: {document}\n\n")));
    }

    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                self.silence = None;
                return Poll::Ready(Some(frame));
            }
            match &mut self.state {
                RunState::Running(events) => match Pin::new(&mut **events).poll_next(context) {
                    Poll::Ready(Some(event)) => {
                        let pieces = self.tracker.event(&event);
                        self.put(pieces);
                    }
                    Poll::Ready(None) => self.begin_end(),
                    Poll::Pending => return self.poll_silence(context),
                },
                RunState::Ending(outcome) => match outcome.as_mut().poll(context) {
                    Poll::Ready(end) => self.end(end),
                    Poll::Pending => return self.poll_silence(context),
                },
                RunState::Ended => return Poll::Ready(None),
            }
        }
    }

    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        let every = self.keep_alive;
        let silence = self.silence.get_or_insert_with(|| Box::pin(tokio::time::sleep(every)));
        ready!(silence.as_mut().poll(context));
        self.silence = None;
        Poll::Ready(Some(KEEP_ALIVE.to_owned()))
    }

    fn begin_end(&mut self) {
        if let RunState::Running(events) = std::mem::replace(&mut self.state, RunState::Ended) {
            self.state = RunState::Ending(Box::pin(events.outcome()));
        }
    }

    fn end(&mut self, end: Result<RunOutcome, RunError>) {
        self.state = RunState::Ended;
        let pieces = self.tracker.end(&end);
        // Kept before the front end learns of it, which may answer at once.
        if let Ok(RunOutcome { paused: Some(paused), .. }) = end
            && !paused.pending().is_empty()
        {
            self.paused.put(self.key.clone(), paused);
        }
        self.put(pieces);
        self.ready.extend(self.writer.last().map(str::to_owned));
    }
}

impl Stream for Frames {
    type Item = Result<String, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_frame(context).map(|frame| frame.map(Ok))
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_ended = matches!(self.state, RunState::Ended);
        f.debug_struct("Frames").field("has_ended", &has_ended).finish_non_exhaustive()
    }
}
