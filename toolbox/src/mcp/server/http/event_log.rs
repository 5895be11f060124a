//! The messages of one stream of a session, kept so that a client can reconnect for them.

use std::collections::VecDeque;
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
    waker: Option<Waker>,
}

/// A reader of the messages after one of them.
pub(super) struct EventReader {
    log: Arc<EventLog>,
    number: u64,
    position: usize,
}

/// The next event of a reader.
pub(super) enum NextEvent {
    Message(usize, Vec<u8>),
    /// Another reader takes the messages from now on.
    Replaced,
    End,
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
        wake(state.waker.take());
    }

    /// Ends the stream once its messages are read.
    pub(super) fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        wake(state.waker.take());
    }

    /// Returns a reader of the messages after a number, or of those that no reader took. It
    /// replaces the one before.
    pub(super) fn read(self: &Arc<Self>, after: Option<usize>) -> EventReader {
        let mut state = self.0.lock();
        state.reader += 1;
        wake(state.waker.take());
        let (number, position) = (state.reader, after.unwrap_or(state.taken));
        EventReader { log: Arc::clone(self), number, position }
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl EventReader {
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<NextEvent> {
        let mut state = self.log.0.lock();
        if state.reader != self.number {
            return Poll::Ready(NextEvent::Replaced);
        }
        let next = state.messages.iter().find(|(number, _)| *number > self.position).cloned();
        if let Some((number, message)) = next {
            self.position = number;
            state.taken = state.taken.max(number);
            return Poll::Ready(NextEvent::Message(number, message));
        }
        if state.is_closed {
            return Poll::Ready(NextEvent::End);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
