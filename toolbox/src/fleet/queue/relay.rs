//! Hands calls of a journal over to the queue of a fleet, and ends them there.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::event::Event;
use super::held::{CallEndKind, Held, Step};
use super::incoming::watch;
use super::mark::Mark;
use super::outgoing::{Means, RelayedTools, token_of};
use super::store::Queue;
use crate::call::JobId;
use crate::durable::{Journal, Outbox, PLACE, RecordedCall};
use crate::fleet::error::FleetError;
use crate::fleet::mount::Mounted;
use crate::fleet::random;
use crate::fleet::subjects::QueueKey;
use crate::fleet::wire::{Answer, CallNote};
use crate::fleet::worker::AbortOnDrop;

/// The most calls that are handed over at once.
const BATCH: usize = 128;
/// The requests to the server that are under way at once.
const REQUESTS: usize = 64;
/// The longest time after which a change by another process is seen.
const POLL: Duration = Duration::from_millis(200);
/// The pause after the queue refused a call.
const FULL: Duration = Duration::from_secs(1);
/// The pause after the server or the journal failed.
const RETRY: Duration = Duration::from_millis(500);

/// Hands the calls that a journal accepted over to the workers of a fleet, through the server's
/// `JetStream`, and ends them in the journal when their results arrive.
///
/// A call is handed over once it waits, is of a tool that the fleet has in the box, and a worker of
/// the same definition takes [durable calls](super::super::Worker::durable). From then on neither
/// the box nor a connection is needed: after a restart, a relay of the same journal goes on with
/// the calls that were handed over before. [Workers](crate::durable::Worker) of the same journal
/// leave these tools to the relay.
///
/// A tool that is not declared idempotent runs at most once, also when the server loses its store:
/// then the call ends as [unknown](crate::durable::CallState::OutcomeUnknown). An idempotent one is
/// published again. One relay for each journal and fleet is enough; a second one does the same work
/// again.
///
/// ```no_run
/// use toolbox::durable::Journal;
/// use toolbox::fleet::{Fleet, FleetOptions, Relay};
/// use toolbox::{ToolBox, ToolCall, ToolContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let journal = Journal::open("agent.db")?;
/// let toolbox = ToolBox::new();
/// let fleet = Fleet::connect("nats://127.0.0.1:4222", FleetOptions::new()).await?;
/// let mounted = fleet.mount(&toolbox).await?;
/// let relay = Relay::new(&mounted, &journal);
/// tokio::spawn(async move { relay.run_until(std::future::pending()).await });
///
/// let call = ToolCall::new("1", "resize", r#"{"path": "a.png", "width": 64}"#);
/// let accepted = toolbox.submit(&journal, &ToolContext::new(), call).await;
/// if let Some(id) = accepted.job() {
///     println!("{:?}", journal.wait(id).await?);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Relay {
    mounted: Mounted,
    journal: Journal,
    most: usize,
}

impl Relay {
    /// Returns a relay from a journal to a fleet that is mounted into a box.
    #[must_use]
    pub fn new(mounted: &Mounted, journal: &Journal) -> Self {
        Self { mounted: mounted.clone(), journal: journal.clone(), most: 10_000 }
    }

    /// Limits the calls that are handed over and have no result yet. Default 10 000; further ones
    /// wait in the journal.
    #[must_use]
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.most = calls.max(1);
        self
    }

    /// Hands calls over and takes their results until `stop` ends. Those that are handed over by
    /// then go on, and are ended by the next relay of the journal.
    ///
    /// A lost server, and a store that fails, are tried again.
    ///
    /// # Errors
    ///
    /// [`FleetError::Queue`] if the queue can be neither read nor made at the start,
    /// [`FleetError::Closed`] once the connection is closed.
    ///
    /// # Cancellation
    ///
    /// Dropping the future has the effect of `stop`.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> Result<(), FleetError> {
        let mut stop = std::pin::pin!(stop);
        let caller = Arc::clone(self.mounted.caller());
        let queue = Queue::of(&caller.connection).await?;
        queue.ensure(&caller.connection).await.map_err(|source| {
            let stream = caller.connection.subjects.queue();
            FleetError::Queue { stream, source }
        })?;
        let means = Arc::new(Means { outbox: Outbox::new(&self.journal), queue, caller });
        let prefix = format!("{PLACE}{}:", means.connection().subjects.fleet());
        let held = loop {
            match means.outbox.held_by(&prefix).await {
                Ok(held) => break held,
                Err(error) => {
                    tracing::error!(%error, "the journal could not be read; trying again");
                }
            }
            tokio::select! {
                () = &mut stop => return Ok(()),
                () = tokio::time::sleep(RETRY) => {}
            }
        };
        let mut work = RelayWork::new(means, &self, prefix, &held);
        work.run(stop).await
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("journal", &self.journal).finish_non_exhaustive()
    }
}

/// A relay at work.
struct RelayWork {
    means: Arc<Means>,
    mounted: Mounted,
    most: usize,
    /// The beginning of the names of all places of the fleet.
    prefix: String,
    place: String,
    held: Held,
    /// The digests in the journal, by the names and digests at the workers.
    digests: HashMap<(String, String), String>,
    /// The number of the last pass of each watch over what the place has.
    passes: HashMap<String, u64>,
    rewatch: Arc<Notify>,
    events: UnboundedReceiver<Event>,
    sender: UnboundedSender<Event>,
    tasks: JoinSet<()>,
    is_handing_over: bool,
    /// The time before which nothing is handed over.
    not_before: Instant,
    position: u64,
    revision: u64,
    _watching: Vec<AbortOnDrop>,
}

impl RelayWork {
    fn new(means: Arc<Means>, relay: &Relay, prefix: String, calls: &[RecordedCall]) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let mut places: Vec<String> = calls.iter().filter_map(|call| call.owner.clone()).collect();
        places.sort();
        places.dedup();
        if places.is_empty() {
            places.push(format!("{prefix}{}", random::token()));
        }
        let rewatch = Arc::new(Notify::new());
        let mut held = Held::default();
        for call in calls {
            held.add(call, None, 0, Instant::now());
        }
        let watching = places.iter().map(|place| {
            let watch =
                watch(Arc::clone(&means), place.clone(), Arc::clone(&rewatch), sender.clone());
            AbortOnDrop(tokio::spawn(watch))
        });
        Self {
            mounted: relay.mounted.clone(),
            most: relay.most,
            _watching: watching.collect(),
            place: places.swap_remove(0),
            prefix,
            held,
            digests: HashMap::new(),
            passes: HashMap::new(),
            rewatch,
            events,
            sender,
            tasks: JoinSet::new(),
            is_handing_over: false,
            not_before: Instant::now(),
            position: 0,
            revision: 0,
            means,
        }
    }

    async fn run(
        &mut self,
        mut stop: std::pin::Pin<&mut impl Future<Output = ()>>,
    ) -> Result<(), FleetError> {
        let means = Arc::clone(&self.means);
        let lease = means.lease();
        let mut lost = means.connection().events.lost();
        let mut sweep = tokio::time::interval((lease / 4).min(Duration::from_secs(5)));
        sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let changed = means.outbox.changed();
            let cancelling = means.outbox.cancelling();
            self.hand_over();
            tokio::select! {
                () = &mut stop => return Ok(()),
                Some(event) = self.events.recv() => self.note(event),
                Some(_) = self.tasks.join_next(), if !self.tasks.is_empty() => {}
                _ = lost.changed() => {
                    if means.connection().is_closed() {
                        return Err(FleetError::Closed);
                    }
                }
                () = cancelling => self.cancel().await,
                _ = sweep.tick() => {
                    self.cancel().await;
                    self.sweep();
                }
                () = changed, if !self.is_handing_over => {}
                () = tokio::time::sleep(POLL), if !self.is_handing_over => {}
            }
        }
    }

    /// Starts a task, whose events come back to the loop.
    fn start<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        task: impl FnOnce(Arc<Means>, UnboundedSender<Event>) -> F,
    ) {
        let task = task(Arc::clone(&self.means), self.sender.clone());
        self.tasks.spawn(task);
    }

    /// Hands waiting calls over, if there is room for more.
    fn hand_over(&mut self) {
        let room = self.most.saturating_sub(self.held.len()).min(BATCH);
        let is_ready = !self.is_handing_over
            && room > 0
            && self.means.connection().is_connected()
            && self.passes.contains_key(&self.place)
            && Instant::now() >= self.not_before;
        if !is_ready {
            return;
        }
        let tools = self.tools();
        self.means.outbox.relay(tools.keys().cloned().collect());
        if tools.is_empty() {
            self.not_before = Instant::now() + POLL;
            return;
        }
        self.is_handing_over = true;
        let place = self.place.clone();
        self.start(|means, events| async move {
            let is_full_batch = match means.hand_over(&tools, room, &place, &events).await {
                Ok(is_full_batch) => is_full_batch,
                Err(error) => {
                    tracing::error!(%error, "calls could not be handed over; trying again");
                    false
                }
            };
            let _ = events.send(Event::BatchOver(is_full_batch));
        });
    }

    /// Returns the tools whose calls are handed over, by their names and digests in the journal.
    fn tools(&mut self) -> RelayedTools {
        let mut digests = std::mem::take(&mut self.digests);
        let tools = self.mounted.durable_tools().into_iter().map(|(tool, remote)| {
            // A tool of the same name at the workers and the same definition is the same here.
            let digest = digests
                .remove(&remote.name_and_digest)
                .unwrap_or_else(|| Outbox::digest(tool.definition()));
            self.digests.insert(remote.name_and_digest.clone(), digest.clone());
            ((tool.name().to_owned(), digest), remote)
        });
        tools.collect()
    }

    fn note(&mut self, event: Event) {
        let lease = self.means.lease();
        match event {
            Event::HandedOver(calls) => {
                let pass = self.passes.get(&self.place).copied().unwrap_or_default();
                let due = Instant::now() + 2 * lease;
                for (call, mark, revision) in calls {
                    let due = if call.is_cancelled { Instant::now() } else { due };
                    self.held.add(&call, Some((mark, revision)), pass, due);
                }
            }
            Event::BatchOver(is_full_batch) => {
                self.is_handing_over = false;
                // Every ticket that was written by now is that of a call which is held, or is over.
                self.held.note_point(self.position, self.revision);
                let pause = if is_full_batch { Duration::ZERO } else { POLL };
                self.not_before = self.not_before.max(Instant::now() + pause / 4);
            }
            Event::Published(id, position) => {
                self.position = self.position.max(position.unwrap_or_default());
                if let Some(call) = self.held.get_mut(&id).filter(|call| call.is_open()) {
                    call.is_busy = false;
                    if position.is_none() {
                        call.due = Instant::now() + lease / 2;
                    }
                }
            }
            Event::GivenBack(id) => {
                self.held.forget(&id);
                self.not_before = Instant::now() + FULL;
            }
            Event::Marked(key, mark, revision, pass) => {
                self.revision = self.revision.max(revision);
                if let Some(call) = self.held.get_mut(&JobId::from_text(key.id)) {
                    let known = call.mark.as_ref().map_or(0, |(_, known)| *known);
                    if call.seen < pass || known <= revision {
                        // One that is shown once more says nothing of a message that is gone.
                        if known != revision {
                            call.lost = None;
                        }
                        (call.mark, call.seen) = (Some((mark, revision)), pass);
                    }
                }
            }
            Event::Result(key, value, revision) => {
                self.revision = self.revision.max(revision);
                self.take_result(key, value, revision);
            }
            Event::Began(place) => {
                // A store that is new counts from the beginning: what was seen of the one before
                // says nothing about what may be removed.
                if place == self.place {
                    (self.position, self.revision) = (0, 0);
                    self.held.forget_cut();
                }
            }
            Event::Current(place, pass) => {
                self.held.note_current(&place, pass);
                self.passes.insert(place, pass);
            }
            Event::Ended(id, None) => self.held.remove(&id),
            Event::Ended(id, Some(end)) => {
                if let Some(call) = self.held.get_mut(&id) {
                    (call.is_busy, call.due) = (false, Instant::now() + RETRY);
                    call.end = Some(end);
                }
            }
            Event::Looked(id, looked) => self.looked(&id, &looked),
            Event::Remarked(id, mark) => {
                let pass = self.pass_of(&id);
                let Some(call) = self.held.get_mut(&id).filter(|call| call.is_open()) else {
                    return;
                };
                call.is_busy = false;
                call.due = Instant::now();
                match mark {
                    Some(mark) => {
                        if mark.0 != Mark::Void {
                            call.due += 2 * lease;
                        }
                        (call.mark, call.seen, call.lost) = (Some(mark), pass, None);
                    }
                    // Somebody else marked it, which the watch shows.
                    None => call.due += lease / 2,
                }
            }
        }
    }

    /// Returns the number of the last pass of the watch over what the place of a call has.
    fn pass_of(&self, id: &JobId) -> u64 {
        let place = self.held.get(id).and_then(|call| call.claim.place.as_ref());
        place.and_then(|place| self.passes.get(place)).copied().unwrap_or_default()
    }

    /// Ends a call by its result.
    fn take_result(&mut self, key: QueueKey, value: Vec<u8>, revision: u64) {
        let id = JobId::from_text(key.id.as_str());
        if self.held.has_taken(&id, revision) {
            return;
        }
        let is_stored = matches!(Answer::read(&value), Ok(Answer::Note(CallNote::Stored(_))));
        let call = self.held.get_mut(&id).map(|call| {
            (call.is_busy, call.result) = (true, Some(revision));
            call.has_stored |= is_stored;
            call.clone()
        });
        let toolbox = self.mounted.toolbox();
        self.start(|means, events| async move {
            let Some(call) = call else { return means.note_late(&id, &key, &value).await };
            let end = means.end(&call, &key, &value, toolbox).await;
            means.finish(&call, end, &events).await;
        });
    }

    /// Looks after the calls that are due, and removes what the server needs no more.
    fn sweep(&mut self) {
        let means = Arc::clone(&self.means);
        if !means.connection().is_connected() {
            return;
        }
        let now = Instant::now();
        for id in self.held.due(now, 16 * REQUESTS) {
            self.look_after(&id);
        }
        let rest = 2 * means.lease();
        if let Some(cut) = self.held.cut(rest, now) {
            let token = token_of(&self.place).to_owned();
            self.start(|means, _| async move {
                let messages = means.connection().subjects.queued_by(&token);
                let states = QueueKey::all_of(&token);
                let removed = means
                    .queue
                    .remove_until((&messages, cut.position), (&states, cut.revision))
                    .await;
                if let Err(error) = removed {
                    tracing::debug!(error, "what ended calls left could not be removed yet");
                }
            });
        }
    }

    fn look_after(&mut self, id: &JobId) {
        let rest = 2 * self.means.lease();
        let Some(call) = self.held.get_mut(id) else { return };
        let is_current = call.claim.place.as_ref().is_some_and(|it| self.passes.contains_key(it));
        if let Some(end) = call.end.clone() {
            call.is_busy = true;
            let call = call.clone();
            return self.start(|means, events| async move {
                means.finish(&call, end, &events).await;
            });
        }
        if !is_current {
            return;
        }
        call.due = call.due_within(rest);
        match call.step() {
            Step::Finish(kind) => self.finish_as(id, kind),
            Step::Void => {
                call.is_busy = true;
                let call = call.clone();
                self.start(|means, events| async move { means.void(&call, &events).await });
            }
            Step::Look => {
                call.is_busy = true;
                let (id, mark) = (id.clone(), call.mark.clone());
                self.start(|means, events| async move {
                    let looked = match &mark {
                        Some((mark, _)) => means.queue.has_message(mark.subject()).await,
                        None => Ok(true),
                    };
                    let _ = events.send(Event::Looked(id, looked));
                });
            }
            Step::Wait => self.looked(id, &Ok(false)),
        }
    }

    /// Ends a call without a result of a worker.
    fn finish_as(&mut self, id: &JobId, kind: CallEndKind) {
        let Some(call) = self.held.get_mut(id) else { return };
        let end = call.ended(kind);
        (call.is_busy, call.end) = (true, Some(end.clone()));
        let call = call.clone();
        self.start(|means, events| async move { means.finish(&call, end, &events).await });
    }

    /// Goes on with a call whose message is in the queue, or is not.
    fn looked(&mut self, id: &JobId, looked: &Result<bool, String>) {
        let rest = 2 * self.means.lease();
        let now = Instant::now();
        let pass = self.pass_of(id);
        // One that has its result meanwhile needs nothing else.
        let Some(call) = self.held.get_mut(id).filter(|call| call.is_open()) else { return };
        call.is_busy = false;
        match looked {
            Err(_) => {
                call.due = now + self.means.lease() / 2;
                return;
            }
            Ok(true) => {
                call.lost = None;
                return;
            }
            Ok(false) => {}
        }
        // The next look is at a picture that is newer than this one.
        self.rewatch.notify_waiters();
        let (since, seen) = *call.lost.get_or_insert((now, pass));
        let has_ticket = matches!(call.mark, Some((Mark::Ticket { .. }, _)));
        // A call whose ticket is there was not begun, and may be published again at once.
        if !has_ticket && (now.duration_since(since) < rest || seen == pass) {
            call.due = (since + rest).max(now + rest / 8);
            return;
        }
        match call.end_of_lost().filter(|_| !has_ticket) {
            Some(kind) => self.finish_as(id, kind),
            None => {
                call.is_busy = true;
                let call = call.clone();
                let tools = self.tools();
                self.start(|means, events| async move {
                    means.publish_again(&call, &tools, &events).await;
                });
            }
        }
    }

    /// Learns which calls are to be cancelled, and tells their workers.
    async fn cancel(&mut self) {
        let Ok(ids) = self.means.outbox.to_cancel(&self.prefix).await else { return };
        for id in ids {
            let Some(call) = self.held.get_mut(&id) else { continue };
            let is_new = !std::mem::replace(&mut call.is_cancelled, true);
            if is_new && !call.is_busy {
                call.due = Instant::now();
            }
            if let Some((Mark::Begun(_), _)) = call.mark {
                let connection = self.means.connection();
                let subject = connection.subjects.cancel(id.as_str());
                let _ = connection.client.publish(subject, Vec::new().into()).await;
            } else if !call.is_busy {
                self.look_after(&id);
            }
        }
    }
}
