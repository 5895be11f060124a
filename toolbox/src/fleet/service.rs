//! The calls that run on a worker.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use async_nats::{Message, Subject};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::Connection;
use super::outbox::CallOutbox;
use super::payload::Payloads;
use super::wire::{
    BEAT, CallHead, CallNote, ItemReport, OutcomeRef, stored_arguments, stored_result,
};
use crate::call::{FailureKind, ToolCall, ToolResult};
use crate::collection::ToolBox;
use crate::context::approval::Approval;
use crate::context::{CancellationToken, CarriedRun, CarriedSpending, Taint, ToolContext, now};
use crate::dispatch::Pass;
use crate::sync::Mutex;
use crate::text::{QUOTED, quote};
use crate::tool::Tool;

/// The most reports of progress that are sent of one call.
const MAX_REPORTS: usize = 1000;

/// The limits of a worker.
#[derive(Debug, Clone)]
pub(super) struct WorkerLimits {
    pub(super) calls: usize,
    pub(super) depth: u32,
    pub(super) time: Duration,
    pub(super) drain: Duration,
}

/// The box of a worker, and the calls that it runs.
pub(super) struct Service {
    pub(super) connection: Arc<Connection>,
    pub(super) toolbox: ToolBox,
    pub(super) limits: WorkerLimits,
    pub(super) counts: Arc<WorkerCounts>,
    /// The right to run a call.
    pub(super) permits: Arc<Semaphore>,
    pub(super) payloads: Payloads,
    /// Cancelled when the worker stops.
    pub(super) ending: CancellationToken,
    /// The calls under way, by their ids.
    running: Mutex<HashMap<String, CallUnderWay>>,
}

struct CallUnderWay {
    token: CancellationToken,
    /// The subject to answer on; none for a durable call.
    reply: Option<Subject>,
}

/// The number of calls that were not run, by the reason.
#[derive(Default)]
pub(super) struct WorkerCounts {
    pub(super) done: AtomicU64,
    pub(super) busy: AtomicU64,
    pub(super) malformed: AtomicU64,
}

impl WorkerCounts {
    pub(super) fn add(count: &AtomicU64) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

impl Service {
    pub(super) fn new(
        connection: Arc<Connection>,
        toolbox: ToolBox,
        limits: WorkerLimits,
        counts: Arc<WorkerCounts>,
    ) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(limits.calls));
        Arc::new(Self {
            connection,
            toolbox,
            limits,
            counts,
            permits,
            payloads: Payloads::default(),
            ending: CancellationToken::new(),
            running: Mutex::default(),
        })
    }

    /// Takes a call, or answers at once that the worker is busy: the box asks another worker then,
    /// and a queue here would only hide that there are too few.
    pub(super) async fn accept(self: &Arc<Self>, tool: &Tool, message: Message) {
        let Some(reply) = message.reply.clone() else {
            // Without a subject to answer on it comes from no box.
            return WorkerCounts::add(&self.counts.malformed);
        };
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            WorkerCounts::add(&self.counts.busy);
            return self.answer(&reply, &CallNote::Busy).await;
        };
        let (service, tool) = (Arc::clone(self), tool.clone());
        tokio::spawn(async move { service.run(&tool, &message, reply, permit).await });
    }

    async fn answer(&self, reply: &Subject, note: &CallNote<'_>) {
        // A box that is gone notices that by itself, as does this worker if the server is.
        let message = note.message().into();
        let _ = self.connection.client.publish(reply.clone(), message).await;
    }

    /// Runs one call, and answers it.
    async fn run(
        &self,
        tool: &Tool,
        message: &Message,
        reply: Subject,
        permit: OwnedSemaphorePermit,
    ) {
        let began = Instant::now();
        if !self.toolbox.get(tool.name()).is_some_and(|current| current.is_same(tool)) {
            return self.answer(&reply, &CallNote::Gone).await;
        }
        let (head, arguments) = match CallHead::read(&message.payload) {
            Ok(read) => read,
            Err(reason) => {
                WorkerCounts::add(&self.counts.malformed);
                let reason = quote(&reason, 4 * QUOTED);
                let text = format!("the worker cannot read the call: {reason}; nothing ran");
                return self.refuse(&reply, FailureKind::Infrastructure, text).await;
            }
        };
        if let Some((kind, text)) = self.refusal(&head, tool.name()) {
            return self.refuse(&reply, kind, text).await;
        }
        let Some(running) = RunningCall::begin(self, &head.id, Some(&reply)) else {
            WorkerCounts::add(&self.counts.malformed);
            let text = "another call has the id of this one; nothing ran".to_owned();
            return self.refuse(&reply, FailureKind::DuplicateId, text).await;
        };
        let arguments = match head.stored {
            None => arguments.to_owned(),
            Some(_) => match self.stored_arguments(&head.id).await {
                Ok(arguments) => arguments,
                Err(reason) => {
                    let reason = quote(&reason, 4 * QUOTED);
                    let text = format!("the arguments did not arrive: {reason}; nothing ran");
                    return self.refuse(&reply, FailureKind::Infrastructure, text).await;
                }
            },
        };
        let context = self.context(&head, running.token.clone(), began);
        let (context, outbox) = CallOutbox::of(context, head.progress);
        let (context, run) = below(head.run, context);
        let taint = context.get::<Taint>().cloned();
        let was_tainted = taint.as_ref().is_some_and(Taint::is_tainted);
        let call = ToolCall::new(&*head.call_id, tool.name(), arguments);
        let pass = Pass { approved: self.takes_approval(&head, tool), hidden: true, whole: true };
        let work = self.toolbox.dispatch(Some(&context), call, pass);
        let result = match outbox {
            Some(outbox) => self.report_while(work, &reply, outbox).await,
            None => work.await,
        };
        drop(running);
        if result.is_deferred() {
            self.answer(&reply, &CallNote::Unapproved).await;
        } else {
            let is_tainted = taint.is_some_and(|taint| taint.is_tainted());
            let tainted = is_tainted && !was_tainted || result.is_untrusted();
            let outcome = OutcomeRef { tainted, spent: spent(run), ..OutcomeRef::of(&result) };
            self.conclude(&reply, &head.id, outcome).await;
        }
        WorkerCounts::add(&self.counts.done);
        drop(permit);
    }

    /// Returns the reason why a call does not run at all.
    pub(super) fn refusal(&self, head: &CallHead<'_>, tool: &str) -> Option<(FailureKind, String)> {
        let depth = head.context.depth;
        if depth > self.limits.depth {
            let limit = self.limits.depth;
            let text = format!(
                "tool `{tool}` was not run: {depth} agents are above it, and the worker takes at most {limit}"
            );
            return Some((FailureKind::TooDeep, text));
        }
        let is_over = head.context.remaining().is_some_and(|left| left.is_zero());
        if head.left_ms == Some(0) || is_over {
            let text = format!("tool `{tool}` was not run: the time of the call was over");
            return Some((FailureKind::Expired, text));
        }
        None
    }

    async fn refuse(&self, reply: &Subject, kind: FailureKind, text: String) {
        let result = ToolResult::failure(kind, text);
        self.conclude(reply, "", OutcomeRef::of(&result)).await;
    }

    async fn stored_arguments(&self, id: &str) -> Result<String, String> {
        let limit = self.connection.options.max_payload;
        let stored = self.payloads.get(&self.connection, &stored_arguments(id), limit).await?;
        String::from_utf8(stored).map_err(|_| "they are no UTF-8".to_owned())
    }

    /// Returns the context of a call, as the box sent it and the worker limits it.
    pub(super) fn context(
        &self,
        head: &CallHead<'_>,
        token: CancellationToken,
        began: Instant,
    ) -> ToolContext {
        let mut context = head.context.restore().with_cancellation(token);
        let left = head.left_ms.map_or(self.limits.time, Duration::from_millis);
        let left = left.min(self.limits.time).saturating_sub(began.elapsed());
        if let Some(deadline) = now().checked_add(left) {
            context = context.with_deadline(deadline);
        }
        if head.can_be_approved {
            context = context.with_deferral();
        }
        context
    }

    /// Returns `true` if the approval that the box gave counts: where neither the tool nor the box
    /// here has an approver, who would be asked instead.
    pub(super) fn takes_approval(&self, head: &CallHead<'_>, tool: &Tool) -> bool {
        let has_own = matches!(tool.inner().running.approval, Approval::Own(_))
            || self.toolbox.shared.settings.approver.is_some();
        head.approved && !has_own
    }

    /// Runs a call, and sends its reports of progress and its items meanwhile.
    async fn report_while(
        &self,
        work: impl Future<Output = ToolResult>,
        reply: &Subject,
        mut outbox: CallOutbox,
    ) -> ToolResult {
        let mut work = std::pin::pin!(work);
        let mut left = MAX_REPORTS;
        let result = loop {
            tokio::select! {
                biased;
                result = &mut work => break result,
                note = outbox.next() => self.report(reply, note, &mut left).await,
            }
        };
        while let Some(note) = outbox.take() {
            self.report(reply, note, &mut left).await;
        }
        result
    }

    async fn report(&self, reply: &Subject, note: CallNote<'_>, left: &mut usize) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        match note {
            CallNote::Item(item) if note.message().len() > self.connection.inline() => {
                let item = ItemReport { content: Vec::new(), ..item };
                self.answer(reply, &CallNote::Item(item)).await;
            }
            note => self.answer(reply, &note).await,
        }
    }

    /// Answers a call with its result.
    async fn conclude(&self, reply: &Subject, id: &str, outcome: OutcomeRef<'_>) {
        let (tainted, spent) = (outcome.tainted, outcome.spent);
        let message = outcome.message();
        if message.len() <= self.connection.inline() {
            let _ = self.connection.client.publish(reply.clone(), message.into()).await;
            return;
        }
        let (body, limit) = (&message[1..], self.connection.options.max_payload);
        let failure = if body.len() > limit {
            let text = format!(
                "the result has {} bytes, and a fleet takes at most {limit} (`FleetOptions::max_payload_bytes`)",
                body.len()
            );
            ToolResult::failure(FailureKind::ResultTooLarge, text)
        } else {
            match self.payloads.put(&self.connection, &stored_result(id), body).await {
                Ok(()) => return self.answer(reply, &CallNote::Stored(body.len())).await,
                Err(reason) => {
                    let reason = quote(&reason, 4 * QUOTED);
                    let text = format!("the tool ran, and its result cannot be sent: {reason}");
                    ToolResult::failure(FailureKind::ResultTooLarge, text)
                }
            }
        };
        let outcome = OutcomeRef { tainted, spent, ..OutcomeRef::of(&failure) };
        let _ = self.connection.client.publish(reply.clone(), outcome.message().into()).await;
    }

    /// Tells the boxes, again and again, which of their calls are under way, until the returned
    /// value is dropped.
    pub(super) fn start_beats(self: &Arc<Self>) -> std::io::Result<Clock> {
        let service = Arc::downgrade(self);
        Clock::start(BEAT, move || {
            let service = service.upgrade()?;
            Some(async move { service.beat().await })
        })
    }

    async fn beat(&self) {
        let replies: Vec<Subject> =
            self.running.lock().values().filter_map(|call| call.reply.clone()).collect();
        for reply in replies {
            self.answer(&reply, &CallNote::Alive).await;
        }
    }

    /// Cancels a call, if it runs here.
    pub(super) fn cancel(&self, id: &str) {
        let token = self.running.lock().get(id).map(|call| call.token.clone());
        if let Some(token) = token {
            token.cancel();
        }
    }
}

/// Puts the limits of the run that made a call into its context.
#[cfg(feature = "agent")]
fn below(
    limits: Option<CarriedRun>,
    context: ToolContext,
) -> (ToolContext, Option<crate::agent::RemoteRun>) {
    let Some(limits) = limits else { return (context, None) };
    let (context, run) = crate::agent::RemoteRun::below(limits, context);
    (context, Some(run))
}

#[cfg(feature = "agent")]
fn spent(run: Option<crate::agent::RemoteRun>) -> Option<CarriedSpending> {
    run?.spent()
}

/// There are no agents here that could spend anything.
#[cfg(not(feature = "agent"))]
fn below(limits: Option<CarriedRun>, context: ToolContext) -> (ToolContext, Option<CarriedRun>) {
    (context, limits)
}

#[cfg(not(feature = "agent"))]
fn spent(_: Option<CarriedRun>) -> Option<CarriedSpending> {
    None
}

/// A clock that starts a task again and again, until it is dropped.
///
/// It is a thread of its own. A tool may block the thread that runs it, and the only thread of the
/// runtime that waits for its timers with it; a task that is spawned from outside wakes another
/// one.
pub(super) struct Clock(#[allow(dead_code, reason = "kept to be dropped")] Sender<()>);

impl Clock {
    /// Starts a clock, whose tasks run on the runtime of the caller; it ends where there is none.
    pub(super) fn start<F: Future<Output = ()> + Send + 'static>(
        interval: Duration,
        task: impl Fn() -> Option<F> + Send + 'static,
    ) -> std::io::Result<Self> {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let runtime = Handle::current();
        std::thread::Builder::new().name("toolbox-fleet".to_owned()).spawn(move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let Some(task) = task() else { return };
                runtime.spawn(task);
            }
        })?;
        Ok(Self(stop))
    }
}

/// A call that can be cancelled by its id.
pub(super) struct RunningCall<'a> {
    service: &'a Service,
    id: String,
    pub(super) token: CancellationToken,
}

impl<'a> RunningCall<'a> {
    pub(super) fn begin(service: &'a Service, id: &str, reply: Option<&Subject>) -> Option<Self> {
        let token = service.ending.child_token();
        let mut running = service.running.lock();
        if running.contains_key(id) {
            return None;
        }
        let call = CallUnderWay { token: token.clone(), reply: reply.cloned() };
        running.insert(id.to_owned(), call);
        drop(running);
        Some(Self { service, id: id.to_owned(), token })
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.service.running.lock().remove(&self.id);
    }
}
