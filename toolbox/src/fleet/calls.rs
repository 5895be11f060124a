//! The calls of a box that wait for an answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_nats::{Message, Subscriber};
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

use super::connection::Connection;
use super::random;
use super::wire::{Answer, BEAT};
use super::worker::AbortOnDrop;
use crate::sync::Mutex;

/// The messages about one call that may wait to be read. Of more, reports of progress are dropped.
const WAITING: usize = 32;
/// The time without a word of the worker after which a call counts as lost.
const SILENCE: Duration = BEAT.saturating_mul(3);
/// The interval at which silent calls are looked for.
const CLOCK: Duration = Duration::from_secs(1);

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
    messages: mpsc::Sender<CallMessage>,
    /// The number of losses of the connection before the call.
    losses: u64,
    /// The time of the last message about it.
    heard: Instant,
}

/// A message to a call that waits.
#[derive(Debug)]
pub(super) enum CallMessage {
    OfWorker(Message),
    NoAnswer(NoAnswer),
}

/// The reason why a call has no answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum NoAnswer {
    /// The connection was lost.
    Lost,
    /// The worker has not been heard of for too long.
    Silent,
}

/// A call that waits for an answer. Dropping it forgets its token.
pub(super) struct WaitingCall {
    pub(super) token: String,
    messages: mpsc::Receiver<CallMessage>,
    calls: Arc<OpenCalls>,
}

impl OpenCalls {
    /// Listens to the inbox of a connection, for as long as anybody uses the calls.
    pub(super) async fn listen(connection: &Connection) -> Result<Arc<Self>, String> {
        let calls = Arc::new(Self::default());
        let subject = format!("{}.*", call_inbox(connection));
        let inbox =
            connection.client.subscribe(subject).await.map_err(|error| error.to_string())?;
        let mut lost = connection.events.lost();
        lost.mark_unchanged();
        let weak = Arc::downgrade(&calls);
        let task = tokio::spawn(async move {
            let mut inbox: Subscriber = inbox;
            // One clock for all calls: a timer of each would cost more than all the rest of
            // waiting.
            let mut clock = tokio::time::interval(CLOCK);
            clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
                    _ = clock.tick() => {
                        let Some(calls) = weak.upgrade() else { return };
                        calls.end(NoAnswer::Silent, |call| call.heard.elapsed() >= SILENCE);
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
        let call = OpenCall { messages: sender, losses, heard: Instant::now() };
        self.waiting.lock().insert(token.clone(), call);
        WaitingCall { token, messages, calls: Arc::clone(self) }
    }

    fn deliver(&self, message: Message) {
        let token = message.subject.rsplit('.').next().unwrap_or_default();
        let is_last = message.status.is_some() || Answer::is_last(&message.payload);
        let mut waiting = self.waiting.lock();
        if is_last {
            match waiting.remove(token) {
                // The last place is kept for the last message, and nobody else sends.
                Some(call) => drop(call.messages.try_send(CallMessage::OfWorker(message))),
                None => self.discard(),
            }
            return;
        }
        let Some(call) = waiting.get_mut(token) else { return self.discard() };
        call.heard = Instant::now();
        if call.messages.capacity() > 1 {
            let _ = call.messages.try_send(CallMessage::OfWorker(message));
        }
    }

    /// Counts a message that is no answer to a call which waits for one.
    pub(super) fn discard(&self) {
        self.discarded.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn discarded(&self) -> u64 {
        self.discarded.load(Ordering::Relaxed)
    }

    /// Ends the calls that were sent before the given number of losses.
    fn lose(&self, losses: u64) {
        self.end(NoAnswer::Lost, |call| call.losses < losses);
    }

    fn end(&self, reason: NoAnswer, is_over: impl Fn(&OpenCall) -> bool) {
        self.waiting.lock().retain(|_, call| {
            let is_over = is_over(call);
            if is_over {
                let _ = call.messages.try_send(CallMessage::NoAnswer(reason));
            }
            !is_over
        });
    }
}

/// Returns the subject below which the calls of a connection are answered.
pub(super) fn call_inbox(connection: &Connection) -> String {
    format!("{}.call", connection.inbox)
}

impl WaitingCall {
    /// Waits for a message.
    pub(super) async fn next(&mut self) -> CallMessage {
        self.messages.recv().await.unwrap_or(CallMessage::NoAnswer(NoAnswer::Lost))
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.calls.waiting.lock().remove(&self.token);
    }
}
