//! Receivers of events.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::event::Event;
use crate::panics::forget_quietly;

/// A receiver of events: a bounded queue, or a function.
///
/// Attach it to a box ([`ToolBoxBuilder::events`](crate::ToolBoxBuilder::events)) or to an agent
/// (`AgentBuilder::events`); clones are the same sink, and a call that reaches one in two ways is
/// reported once. A call never waits for a queue: an event that finds it full, or its receiver
/// dropped, is lost and [counted](Self::dropped). A function that panics loses that event alone,
/// which is counted too.
///
/// A sink gets the beginning of each result, and no text that a model is still writing, unless it
/// [asks for content](Self::with_content).
///
/// ```
/// use toolbox::event::{EventKind, EventSink};
/// use toolbox::{tool, tools, ToolBox, ToolCall};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let (sink, mut events) = EventSink::bounded(1024);
/// let toolbox = ToolBox::builder().tools(tools![add]).events(sink.clone()).build().unwrap();
/// toolbox.call(ToolCall::new("c1", "add", r#"{"a": 2, "b": 3}"#)).await;
///
/// let started = events.next().await.unwrap();
/// assert!(matches!(&started.kind, EventKind::ToolStarted { tool, .. } if tool == "add"));
/// let finished = events.next().await.unwrap();
/// assert!(matches!(&finished.kind, EventKind::ToolFinished(end) if end.preview == "5"));
/// assert_eq!(sink.dropped(), 0);
/// # }
/// ```
#[derive(Clone)]
pub struct EventSink {
    inner: Arc<SinkInner>,
    wants_content: bool,
    wants_requests: bool,
}

struct SinkInner {
    target: SinkTarget,
    dropped: Arc<AtomicU64>,
}

enum SinkTarget {
    Queue(Sender<Event>),
    Function(Box<dyn Fn(Event) + Send + Sync>),
}

impl EventSink {
    /// Returns a queue of at most `capacity` events, and its receiver. Zero counts as one.
    ///
    /// An event holds the arguments of its call, which are at most 1 MiB by default.
    #[must_use]
    pub fn bounded(capacity: usize) -> (Self, EventReceiver) {
        let capacity = capacity.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        let (sender, receiver) = channel(capacity);
        let sink = Self::of(SinkTarget::Queue(sender));
        let dropped = Arc::clone(&sink.inner.dropped);
        (sink, EventReceiver { receiver, dropped })
    }

    /// Returns a sink that calls a function with each event, where it happens. It must be quick:
    /// the call waits for it. A sink that writes to a disk or a network is a
    /// [queue](Self::bounded).
    pub fn from_fn(listener: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self::of(SinkTarget::Function(Box::new(listener)))
    }

    fn of(target: SinkTarget) -> Self {
        let inner = SinkInner { target, dropped: Arc::default() };
        Self { inner: Arc::new(inner), wants_content: false, wants_requests: false }
    }

    /// Asks for content: whole results, answers to questions, the text of models as they write it.
    /// Default: the beginning of each result. Values that a schema marks as secret are left out in
    /// any case.
    #[must_use]
    pub fn with_content(mut self) -> Self {
        self.wants_content = true;
        self
    }

    /// Asks for the requests and sessions of the Model Context Protocol as well: of servers that
    /// are mounted into the box, and of services of the box. Default: calls and runs alone.
    #[must_use]
    pub fn with_requests(mut self) -> Self {
        self.wants_requests = true;
        self
    }

    /// Returns the number of events that were lost: the queue was full, its receiver was dropped,
    /// or the function panicked.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.inner.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn wants_content(&self) -> bool {
        self.wants_content
    }

    pub(super) fn wants_requests(&self) -> bool {
        self.wants_requests
    }

    /// Asks for what another handle to the same sink asks for as well.
    pub(super) fn join(&mut self, other: &Self) {
        self.wants_content |= other.wants_content;
        self.wants_requests |= other.wants_requests;
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(super) fn send(&self, event: Event) {
        if !self.wants_content && event.is_content() || !self.wants_requests && event.is_request() {
            return;
        }
        let event = if self.wants_content { event } else { event.without_content() };
        let is_sent = match &self.inner.target {
            SinkTarget::Queue(sender) => sender.try_send(event).is_ok(),
            SinkTarget::Function(listener) => {
                match catch_unwind(AssertUnwindSafe(|| listener(event))) {
                    Ok(()) => true,
                    Err(payload) => {
                        tracing::error!("a listener to events panicked");
                        forget_quietly(payload);
                        false
                    }
                }
            }
        };
        if !is_sent {
            self.inner.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for EventSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSink").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

/// The receiver of a [bounded](EventSink::bounded) sink.
pub struct EventReceiver {
    receiver: Receiver<Event>,
    dropped: Arc<AtomicU64>,
}

impl EventReceiver {
    /// Waits for the next event; `None` once there is neither an event nor a clone of the sink, as
    /// when the box that it was attached to was dropped.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<Event> {
        self.receiver.recv().await
    }

    /// Returns an event that is there already.
    pub fn try_next(&mut self) -> Option<Event> {
        self.receiver.try_recv().ok()
    }

    /// Returns the number of events that were lost: see [`EventSink::dropped`].
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for EventReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventReceiver").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}
