//! The calls of a box that wait for an answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use async_nats::{Message, Subscriber};
use futures_util::StreamExt;
use tokio::sync::mpsc;

use super::connection::Connection;
use super::random;
use super::wire::Answer;
use super::worker::AbortOnDrop;
use crate::sync::Mutex;

/// The messages about one call that may wait to be read. Of more, reports of progress are dropped.
const WAITING: usize = 32;

/// The calls of one connection that wait for an answer, by the last token of their reply subjects.
///
/// The tokens are random, and each connection has an inbox of its own: only the worker that a call
/// was given to knows where its answer goes. A token is forgotten with the last answer, so that a
/// second one reaches nobody.
#[derive(Default)]
pub(super) struct OpenCalls {
    waiting: Mutex<HashMap<String, OpenCall>>,
    discarded: AtomicU64,
    /// The task that reads the inbox, which keeps the connection open.
    listening: OnceLock<AbortOnDrop>,
}

struct OpenCall {
    messages: mpsc::Sender<Message>,
    /// The number of losses of the connection before the call.
    losses: u64,
}

/// A call that waits for an answer. Dropping it forgets its token.
pub(super) struct WaitingCall {
    pub(super) token: String,
    messages: mpsc::Receiver<Message>,
    calls: Arc<OpenCalls>,
}

impl OpenCalls {
    /// Listens to the inbox of a connection, for as long as anybody uses the calls.
    pub(super) async fn listen(connection: &Connection) -> Result<Arc<Self>, String> {
        let calls = Arc::new(Self::default());
        let subject = format!("{}.call.*", connection.inbox);
        let inbox =
            connection.client.subscribe(subject).await.map_err(|error| error.to_string())?;
        let mut lost = connection.events.lost();
        lost.mark_unchanged();
        let weak = Arc::downgrade(&calls);
        let task = tokio::spawn(async move {
            let mut inbox: Subscriber = inbox;
            loop {
                tokio::select! {
                    biased;
                    changed = lost.changed() => {
                        let Some(calls) = weak.upgrade() else { return };
                        if changed.is_err() {
                            return calls.lose(u64::MAX);
                        }
                        calls.lose(*lost.borrow_and_update());
                    }
                    message = inbox.next() => {
                        let Some(calls) = weak.upgrade() else { return };
                        match message {
                            Some(message) => calls.deliver(message),
                            None => return calls.lose(u64::MAX),
                        }
                    }
                }
            }
        });
        let _ = calls.listening.set(AbortOnDrop(task));
        Ok(calls)
    }

    /// Opens a call that is about to be sent.
    pub(super) fn open(self: &Arc<Self>, losses: u64) -> WaitingCall {
        let token = random::token();
        let (sender, messages) = mpsc::channel(WAITING);
        let call = OpenCall { messages: sender, losses };
        self.waiting.lock().insert(token.clone(), call);
        WaitingCall { token, messages, calls: Arc::clone(self) }
    }

    fn deliver(&self, message: Message) {
        let token = message.subject.rsplit('.').next().unwrap_or_default();
        let is_last = message.status.is_some() || Answer::is_last(&message.payload);
        let mut waiting = self.waiting.lock();
        let call = if is_last {
            waiting.remove(token).map(|call| call.messages)
        } else {
            waiting.get(token).map(|call| call.messages.clone())
        };
        drop(waiting);
        match call {
            // The last place is kept for the last message. Nobody else sends.
            Some(messages) if is_last || messages.capacity() > 1 => {
                let _ = messages.try_send(message);
            }
            Some(_) => {}
            None => self.discard(),
        }
    }

    /// Counts a message that is no answer to a call which waits for one.
    pub(super) fn discard(&self) {
        self.discarded.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn discarded(&self) -> u64 {
        self.discarded.load(Ordering::Relaxed)
    }

    /// Forgets the calls that were sent before the given number of losses.
    fn lose(&self, losses: u64) {
        self.waiting.lock().retain(|_, call| call.losses >= losses);
    }
}

impl WaitingCall {
    /// Waits for a message; `None` once the connection was lost.
    pub(super) async fn next(&mut self) -> Option<Message> {
        self.messages.recv().await
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.calls.waiting.lock().remove(&self.token);
    }
}
