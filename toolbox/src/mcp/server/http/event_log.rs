//! The messages of one stream of a session, kept so that a client can reconnect for them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::sync::Mutex;

/// The number of messages that are kept. Of more, the oldest are dropped: reports of progress, and
/// notifications of changes, of which the last says all.
const KEPT: usize = 64;

/// The messages of a stream, from their first to the last that is kept.
#[derive(Default)]
pub(in crate::mcp::server) struct EventLog(Mutex<EventLogState>);

#[derive(Default)]
struct EventLogState {
    /// The messages with their numbers, which begin with one.
    messages: VecDeque<(usize, Vec<u8>)>,
    last: usize,
    /// The number of the last message that a reader took.
    taken: usize,
    is_closed: bool,
    /// The number of the last reader: a client reconnects before the server knows that the
    /// connection before is gone.
    reader: u64,
    /// The readers that wait, by their numbers.
    waiting: HashMap<u64, Waker>,
}

/// A reader of the messages after one of them.
pub(super) struct EventReader {
    log: Arc<EventLog>,
    number: u64,
    position: usize,
    ends_when_replaced: bool,
}

impl EventLog {
    pub(in crate::mcp::server) fn push(&self, message: Vec<u8>) {
        let mut state = self.0.lock();
        state.last += 1;
        let number = state.last;
        state.messages.push_back((number, message));
        if state.messages.len() > KEPT {
            state.messages.pop_front();
        }
        state.wake();
    }

    /// Ends the stream once its messages are read.
    pub(super) fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        state.wake();
    }

    /// Returns a reader of the messages after a number, or of those that no reader took. It
    /// replaces the one before.
    pub(super) fn read(self: &Arc<Self>, after: Option<usize>) -> EventReader {
        let mut state = self.0.lock();
        state.reader += 1;
        state.wake();
        let (number, position) = (state.reader, after.unwrap_or(state.taken));
        EventReader { log: Arc::clone(self), number, position, ends_when_replaced: true }
    }
}

impl EventLogState {
    fn wake(&mut self) {
        self.waiting.drain().for_each(|(_, waker)| waker.wake());
    }
}

impl EventReader {
    /// Lets it wait for the end of the stream when another reader takes the messages. Clients that
    /// reconnect whenever a stream ends would take them from each other for ever.
    pub(super) fn staying_when_replaced(mut self) -> Self {
        self.ends_when_replaced = false;
        self
    }

    /// Returns the next message with its number.
    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<(usize, Vec<u8>)>> {
        let mut state = self.log.0.lock();
        let is_replaced = state.reader != self.number;
        let next =
            state.messages.iter().find(|(number, _)| *number > self.position && !is_replaced);
        if let Some((number, message)) = next.cloned() {
            self.position = number;
            state.taken = state.taken.max(number);
            return Poll::Ready(Some((number, message)));
        }
        if state.is_closed || is_replaced && self.ends_when_replaced {
            return Poll::Ready(None);
        }
        state.waiting.insert(self.number, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        self.log.0.lock().waiting.remove(&self.number);
    }
}
