//! The durable calls that a worker takes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_nats::jetstream::message::Acker;
use async_nats::jetstream::{self, AckKind};
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::mark::{Beginning, Decision, Mark, decide};
use super::store::{BoxedError, Queue, Written};
use crate::call::{FailureKind, ToolCall, ToolResult};
use crate::context::now;
use crate::dispatch::Pass;
use crate::fleet::error::FleetError;
use crate::fleet::random;
use crate::fleet::service::{Clock, RunningCall, Service, WorkerCounts};
use crate::fleet::subjects::{QueueKey, Subjects};
use crate::fleet::wire::{
    CallHead, CallNote, OutcomeRef, QueuedCall, stored_arguments, stored_result,
};
use crate::fleet::worker::{AbortOnDrop, TakingCalls};
use crate::sync::Mutex;
use crate::text::{QUOTED, quote};
use crate::tool::Tool;

/// The most messages that are asked for at once.
const BATCH: usize = 64;
/// The time for which one request for messages waits at the server.
const PULL: Duration = Duration::from_secs(30);
/// The pause after a request that failed.
const RETRY: Duration = Duration::from_millis(500);
/// The attempts to write one mark or result while the worker stops, or the call is not begun yet.
const WRITES: u32 = 5;
/// The attempt after which a panic is final.
const MOST_PANICS: u32 = 2;
/// The time after the end of a call's own time for which its lease is still renewed: its handler is
/// stopped in it, unless it blocks.
const GRACE: Duration = Duration::from_secs(5);

/// Takes durable calls for the box of a worker.
pub(in crate::fleet) struct QueueService {
    service: Arc<Service>,
    queue: Queue,
    /// The name in the marks, which no other service has.
    name: String,
    lease: Duration,
    running: Mutex<HashMap<String, Lease>>,
    /// Says again and again which calls are under way.
    clock: Mutex<Option<Clock>>,
}

/// The lease of a call under way.
struct Lease {
    sequence: u64,
    acker: Arc<Acker>,
    /// The time after which it is not renewed any more.
    until: Instant,
}

impl QueueService {
    pub(in crate::fleet) async fn open(service: &Arc<Service>) -> Result<Arc<Self>, FleetError> {
        let connection = &service.connection;
        let queue = Queue::of(connection).await?;
        let own = Arc::new(Self {
            service: Arc::clone(service),
            queue,
            name: random::token(),
            lease: connection.options.lease,
            running: Mutex::default(),
            clock: Mutex::default(),
        });
        let weak = Arc::downgrade(&own);
        let clock = Clock::start(own.lease / 3, move || {
            let own = weak.upgrade()?;
            Some(async move { own.renew().await })
        });
        *own.clock.lock() = Some(clock.map_err(FleetError::Thread)?);
        Ok(own)
    }

    /// Renews the leases of the calls under way.
    async fn renew(&self) {
        let now = now();
        let ackers: Vec<Arc<Acker>> = self
            .running
            .lock()
            .values()
            .filter(|lease| lease.until > now)
            .map(|lease| Arc::clone(&lease.acker))
            .collect();
        for acker in ackers {
            let _ = acker.ack_with(AckKind::Progress).await;
        }
    }

    /// Takes the durable calls of a tool.
    pub(in crate::fleet) fn take(self: &Arc<Self>, tool: &Tool, digest: &str) -> TakingCalls {
        let (stop, mut stopped) = oneshot::channel();
        let (own, tool, digest) = (Arc::clone(self), tool.clone(), digest.to_owned());
        let task = tokio::spawn(async move {
            loop {
                let pulled = tokio::select! {
                    pulled = own.pull(&tool, &digest) => pulled,
                    _ = &mut stopped => return,
                };
                let Err(error) = pulled else { continue };
                let connection = &own.service.connection;
                if connection.is_connected() {
                    let name = tool.name();
                    let notice = format!("durable calls of `{name}` cannot be taken: {error}");
                    connection.events.notice(&notice);
                }
                tokio::select! {
                    () = tokio::time::sleep(RETRY) => {}
                    _ = &mut stopped => return,
                }
            }
        });
        TakingCalls { stop, task: AbortOnDrop(task) }
    }

    /// Asks for messages, as many as there are permits for, and starts their calls.
    ///
    /// Messages that arrive after this was dropped are delivered again once their lease is over.
    async fn pull(self: &Arc<Self>, tool: &Tool, digest: &str) -> Result<(), BoxedError> {
        let connection = &self.service.connection;
        let mut connected = connection.events.connected();
        connected.mark_unchanged();
        let subjects = connection.subjects.queued_of(tool.name(), digest);
        let name = Subjects::consumer(tool.name(), digest);
        // The streams may be gone with the server's store.
        self.queue.ensure(connection).await?;
        let consumer = self.queue.consumer(&name, &subjects, self.lease).await?;
        loop {
            // Permits are not held while nothing comes: quick calls use them meanwhile.
            drop(self.permit().await);
            let free = self.service.permits.available_permits().clamp(1, BATCH);
            let mut messages = consumer.batch().max_messages(free).expires(PULL).messages().await?;
            loop {
                let message = tokio::select! {
                    message = messages.next() => message,
                    // The server that comes back knows nothing of the request.
                    _ = connected.changed() => return Ok(()),
                };
                let Some(message) = message else { break };
                let message = message?;
                let permit = self.permit().await;
                let (own, tool) = (Arc::clone(self), tool.clone());
                tokio::spawn(async move { own.run(&tool, message, permit).await });
            }
        }
    }

    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        Semaphore::acquire_owned(Arc::clone(&self.service.permits)).await.ok()
    }

    /// Begins, runs and ends the call of a message.
    async fn run(
        &self,
        tool: &Tool,
        message: jetstream::Message,
        permit: Option<OwnedSemaphorePermit>,
    ) {
        let received = now();
        let Ok((sequence, delivered)) =
            message.info().map(|info| (info.stream_sequence, info.delivered.unsigned_abs()))
        else {
            return;
        };
        let (message, acker) = message.split();
        let acker = Arc::new(acker);
        let Some(key) = QueueKey::of_subject(&message.subject) else {
            WorkerCounts::add(&self.service.counts.malformed);
            return self.remove(&acker).await;
        };
        if !self.service.toolbox.get(tool.name()).is_some_and(|now| now.is_same(tool)) {
            let _ = acker.ack_with(AckKind::Nak(Some(self.lease / 3))).await;
            return;
        }
        let Some(call) = HeldLease::new(self, &key.id, sequence, &acker) else { return };
        let (head, queued, arguments) = match CallHead::read_queued(&message.payload, &key.id) {
            Ok(read) => read,
            Err(reason) => {
                WorkerCounts::add(&self.service.counts.malformed);
                let reason = quote(&reason, 4 * QUOTED);
                let text = format!("the worker cannot read the call: {reason}; nothing ran");
                let result = ToolResult::failure(FailureKind::Infrastructure, text);
                return self.conclude(&key, &OutcomeRef::of(&result), &acker).await;
            }
        };
        let idempotent = tool.definition().annotations.is_idempotent();
        let own = Beginning {
            subject: message.subject.to_string(),
            worker: self.name.clone(),
            sequence,
            delivered,
            attempt: 1,
        };
        let begun = match self.begin(&key, own, &queued, idempotent).await {
            Start::Run(begun) => begun,
            Start::Leave => return,
            Start::Remove => return self.remove(&acker).await,
            Start::End(result, dead) => {
                let outcome = OutcomeRef { dead, ..OutcomeRef::of(&result) };
                return self.conclude(&key, &outcome, &acker).await;
            }
        };
        let result = match self.service.refusal(&head, tool.name()) {
            Some((kind, text)) => ToolResult::failure(kind, text),
            None if is_over(queued.expires) => {
                let text =
                    format!("the call of tool `{}` expired before it could run", tool.name());
                ToolResult::failure(FailureKind::Expired, text)
            }
            None => self.make(tool, &head, arguments, &call, received).await,
        };
        let is_stopping = self.service.ending.is_cancelled();
        let was_stopped = is_stopping && result.failure_kind() == Some(FailureKind::Cancelled);
        let panicked = result.failure_kind() == Some(FailureKind::Panicked);
        if idempotent && (was_stopped || panicked && begun.attempt < MOST_PANICS) {
            let _ = acker.ack_with(AckKind::Nak(None)).await;
            return;
        }
        let result = if was_stopped { ToolResult::outcome_unknown(tool.name()) } else { result };
        let dead = idempotent && panicked;
        let outcome = OutcomeRef { dead, ..OutcomeRef::of(&result) };
        call.keep();
        self.conclude(&key, &outcome, &acker).await;
        WorkerCounts::add(&self.service.counts.done);
        drop(permit);
    }

    /// Spends the ticket of a call, or takes it over from a worker that lost it.
    async fn begin(
        &self,
        key: &QueueKey,
        own: Beginning,
        queued: &QueuedCall,
        idempotent: bool,
    ) -> Start {
        let (mut mark, mut expected) = (own.clone(), queued.ticket);
        for _ in 0..WRITES {
            match self.queue.mark(key, &Mark::Begun(mark.clone()), expected).await {
                Written::As(_) => return Start::Run(mark),
                Written::Conflict => {}
                Written::Unclear(_) => {
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            }
            let found = match self.queue.read(&key.result()).await {
                Ok(Some(_)) => return Start::Remove,
                Ok(None) => self.queue.read_mark(key).await,
                Err(error) => Err(error),
            };
            let Ok(found) = found else { return Start::Leave };
            let (found, revision) = found.unzip();
            match decide(found.as_ref(), &own, idempotent) {
                Decision::Remove => return Start::Remove,
                Decision::Leave => return Start::Leave,
                Decision::Ours => return Start::Run(mark),
                Decision::Again(again) => {
                    mark = again;
                    // Of a key that was found.
                    expected = revision.unwrap_or_default();
                }
                Decision::Unknown => {
                    return Start::End(ToolResult::outcome_unknown(&key.tool_name()), false);
                }
                Decision::Dead(begun) => {
                    let text = format!(
                        "the call of tool `{}` was begun {} times, and the worker that ran it was lost each time; it is not tried again",
                        key.tool_name(),
                        begun.attempt
                    );
                    return Start::End(
                        ToolResult::failure(FailureKind::Infrastructure, text),
                        true,
                    );
                }
            }
        }
        Start::Leave
    }

    /// Makes a call that was begun, through the gate of the worker's box.
    async fn make(
        &self,
        tool: &Tool,
        head: &CallHead<'_>,
        arguments: &str,
        lease: &HeldLease<'_>,
        received: Instant,
    ) -> ToolResult {
        let Some(running) = RunningCall::begin(&self.service, &head.id, None) else {
            let text = "another call has the id of this one; nothing ran";
            return ToolResult::failure(FailureKind::DuplicateId, text);
        };
        let arguments = match head.stored {
            None => arguments.to_owned(),
            Some(_) => match self.stored_arguments(&head.id).await {
                Ok(arguments) => arguments,
                Err(reason) => {
                    let reason = quote(&reason, 4 * QUOTED);
                    let text = format!("the arguments did not arrive: {reason}; nothing ran");
                    return ToolResult::failure(FailureKind::Infrastructure, text);
                }
            },
        };
        let context = self.service.context(head, running.token.clone(), received);
        if let Some(left) = context.remaining() {
            lease.renew_until(now().checked_add(left.saturating_add(GRACE)));
        }
        let call = ToolCall::new(&*head.call_id, tool.name(), arguments);
        let approved = self.service.takes_approval(head, tool);
        let pass = Pass { approved, hidden: true, whole: true };
        self.service.toolbox.dispatch(Some(&context), call, pass).await
    }

    async fn stored_arguments(&self, id: &str) -> Result<String, String> {
        let connection = &self.service.connection;
        let limit = connection.options.max_payload;
        let stored = self.queue.payloads.get(connection, &stored_arguments(id), limit).await?;
        String::from_utf8(stored).map_err(|_| "they are no UTF-8".to_owned())
    }

    /// Stores the result of a call, unless it has one, and then removes its message.
    async fn conclude(&self, key: &QueueKey, outcome: &OutcomeRef<'_>, acker: &Acker) {
        let message = self.carried(key, outcome).await;
        let mut writes = 0;
        loop {
            match self.queue.write(&key.result(), message.clone(), 0).await {
                // In a conflict the call has a result, which may be this one.
                Written::As(_) | Written::Conflict => break,
                Written::Unclear(reason) => {
                    writes += 1;
                    // The call stays begun: another worker decides what becomes of it.
                    if self.service.ending.is_cancelled() && writes > WRITES {
                        return;
                    }
                    tracing::warn!(call = key.id, reason, "a result is not stored yet");
                    let connection = &self.service.connection;
                    if connection.is_connected() {
                        let _ = self.queue.ensure(connection).await;
                    }
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
        self.remove(acker).await;
    }

    /// Returns the value of a result: whole, or a note that it is in the object store.
    async fn carried(&self, key: &QueueKey, outcome: &OutcomeRef<'_>) -> Vec<u8> {
        let connection = &self.service.connection;
        let message = outcome.message();
        if message.len() <= connection.inline() {
            return message;
        }
        let (body, limit) = (&message[1..], connection.options.max_payload);
        let failure = if body.len() > limit {
            format!(
                "the result has {} bytes, and a fleet takes at most {limit} (`FleetOptions::max_payload_bytes`)",
                body.len()
            )
        } else {
            match self.queue.payloads.put(connection, &stored_result(&key.id), body).await {
                Ok(()) => return CallNote::Stored(body.len()).message(),
                Err(reason) => {
                    let reason = quote(&reason, 4 * QUOTED);
                    format!("the tool ran, and its result cannot be sent: {reason}")
                }
            }
        };
        OutcomeRef::of(&ToolResult::failure(FailureKind::ResultTooLarge, failure)).message()
    }

    /// Removes the message of a call that has its result. One that stays is delivered again, and
    /// finds the result.
    async fn remove(&self, acker: &Acker) {
        let removed = tokio::time::timeout(self.lease, acker.double_ack()).await;
        if !matches!(removed, Ok(Ok(()))) {
            tracing::debug!("the message of a durable call was not removed yet");
        }
    }
}

/// The decision at the beginning of a call.
enum Start {
    Run(Beginning),
    /// The message stays as it is.
    Leave,
    /// The message has nothing to begin.
    Remove,
    /// The call ends without a run; the flag is `true` for a dead letter.
    End(ToolResult, bool),
}

fn is_over(expires: u64) -> bool {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX) >= expires
}

/// The lease of a call, renewed until this is dropped.
struct HeldLease<'a> {
    service: &'a QueueService,
    id: String,
}

impl<'a> HeldLease<'a> {
    /// Returns `None` if the call is under way here: then this delivery renews its lease from now
    /// on.
    fn new(service: &'a QueueService, id: &str, sequence: u64, acker: &Arc<Acker>) -> Option<Self> {
        let mut running = service.running.lock();
        if let Some(lease) = running.get_mut(id) {
            if lease.sequence == sequence {
                lease.acker = Arc::clone(acker);
            }
            return None;
        }
        // Renewed while it is begun.
        let until = now() + service.lease + GRACE;
        let lease = Lease { sequence, acker: Arc::clone(acker), until };
        running.insert(id.to_owned(), lease);
        drop(running);
        Some(Self { service, id: id.to_owned() })
    }

    fn renew_until(&self, until: Option<Instant>) {
        let far = || now() + Duration::from_secs(365 * 24 * 3600);
        if let Some(lease) = self.service.running.lock().get_mut(&self.id) {
            lease.until = until.unwrap_or_else(far);
        }
    }

    /// Renews the lease however long it takes to store the result.
    fn keep(&self) {
        self.renew_until(None);
    }
}

impl Drop for HeldLease<'_> {
    fn drop(&mut self) {
        self.service.running.lock().remove(&self.id);
    }
}
