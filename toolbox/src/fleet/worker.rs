//! Offers the tools of a box to a fleet.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tokio::task::JoinHandle;
use tokio::task::coop::unconstrained;
use tokio::time::MissedTickBehavior;

use super::bucket::Bucket;
use super::connection::{Connection, names};
use super::error::FleetError;
use super::offer::{OfferedTool, WrittenOffer};
use super::options::FleetOptions;
#[cfg(feature = "durable")]
use super::queue::QueueService;
use super::service::{Service, WorkerCounts, WorkerLimits};
use super::{random, subjects};
use crate::collection::ToolBox;
use crate::context::UNUSED_CONTEXT;
use crate::sync::Mutex;
use crate::tool::Tool;

/// The queue group of the workers that offer a tool.
const GROUP: &str = "workers";
/// The calls at once for each processor, by default: most calls wait for something.
const CALLS_PER_PROCESSOR: usize = 32;
/// The number of messages after which a subscription ends that is to end at once.
///
/// The server reads at most nine digits and takes a longer number for none, while the client, for
/// which the number is never reached, goes on to read what the server had sent before. The client's
/// own `drain` ends its side when anything wakes the connection next, and drops the calls that come
/// later.
const AT_ONCE: u64 = u64::MAX;
/// The longest time of one call, for a box that states none.
const MAX_TIME: Duration = Duration::from_secs(3600);

/// A worker of a fleet: offers the tools of a box to the boxes that mount the fleet.
///
/// Each call passes the gate of the worker's box, with its blacklist, approver, limits and
/// timeouts, under the principal, the conversation, the deadline, the forbidden names, the taint
/// and the depth of the call that was made.
///
/// ```no_run
/// use toolbox::fleet::{FleetOptions, Worker};
/// use toolbox::{tool, tools, ToolBox};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), toolbox::fleet::FleetError> {
/// let worker = Worker::connect("nats://127.0.0.1:4222", FleetOptions::new()).await?;
/// worker.serve(ToolBox::from(tools![add])).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Worker {
    connection: Arc<Connection>,
    limits: WorkerLimits,
    /// `true` if it takes durable calls as well.
    durable: bool,
    state: Arc<WorkerState>,
}

struct WorkerState {
    id: String,
    counts: Arc<WorkerCounts>,
    offered: Mutex<Vec<String>>,
    withheld: Mutex<Vec<(String, String)>>,
}

/// The status of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStatus {
    /// The id of the worker within its fleet: 128 random bits.
    pub id: String,
    /// The version of the server.
    pub server_version: String,
    /// The features that the server lacks, and what follows.
    pub missing: Vec<String>,
    /// The names of the tools that are offered, in the order of the box.
    pub tools: Vec<String>,
    /// The tools that cannot be offered, each with the reason.
    pub withheld: Vec<(String, String)>,
    /// The number of calls that were answered.
    pub answered: u64,
    /// The number of calls that were refused because too many were under way.
    pub refused_busy: u64,
    /// The number of messages that were no calls.
    pub malformed: u64,
    /// Findings for the user, such as permissions that the server denies.
    pub notices: Vec<String>,
}

impl Worker {
    /// Connects to the server of a fleet. Several URLs are separated by commas.
    ///
    /// # Errors
    ///
    /// [`FleetError`] if no server can be reached or the credentials are refused.
    pub async fn connect(servers: &str, options: FleetOptions) -> Result<Self, FleetError> {
        let connection = Arc::new(Connection::open(servers, options).await?);
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let limits = WorkerLimits {
            calls: processors * CALLS_PER_PROCESSOR,
            depth: 16,
            time: MAX_TIME,
            drain: Duration::from_secs(30),
        };
        let state = WorkerState {
            id: random::token(),
            counts: Arc::default(),
            offered: Mutex::default(),
            withheld: Mutex::default(),
        };
        Ok(Self { connection, limits, durable: false, state: Arc::new(state) })
    }

    /// Limits the calls that run at once. Default 32 for each processor.
    ///
    /// A call beyond the limit is answered at once as busy, and the box asks another worker.
    #[must_use]
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.limits.calls = calls.clamp(1, 1 << 20);
        self
    }

    /// Takes durable calls of the tools as well: those that a [`Relay`](super::Relay) handed over
    /// to the queue of the fleet. Default: quick calls alone.
    ///
    /// They share the limits of the other calls, and wait in the queue while the worker is busy.
    #[cfg(feature = "durable")]
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Limits the number of agents that may be above a call. Default 16.
    #[must_use]
    pub fn max_depth(mut self, depth: u32) -> Self {
        self.limits.depth = depth;
        self
    }

    /// Limits the time of one call, whatever its box states. Default 1 hour.
    #[must_use]
    pub fn max_call_time(mut self, time: Duration) -> Self {
        self.limits.time = time;
        self
    }

    /// Limits the time that calls have to finish when the worker stops. Default 30 s.
    #[must_use]
    pub fn drain_time(mut self, time: Duration) -> Self {
        self.limits.drain = time;
        self
    }

    /// Returns the current status.
    #[must_use]
    pub fn status(&self) -> WorkerStatus {
        let counts = &self.state.counts;
        WorkerStatus {
            id: self.state.id.clone(),
            server_version: self.connection.server_version(),
            missing: self.connection.missing(),
            tools: self.state.offered.lock().clone(),
            withheld: self.state.withheld.lock().clone(),
            answered: counts.done.load(Ordering::Relaxed),
            refused_busy: counts.busy.load(Ordering::Relaxed),
            malformed: counts.malformed.load(Ordering::Relaxed),
            notices: self.connection.events.notices(),
        }
    }

    /// Offers the permitted tools of a box until the connection is closed, which a lost server does
    /// not do: the worker waits for it, and offers them again.
    ///
    /// Tools that are added to the box, removed or forbidden later are offered or withdrawn. A
    /// worker serves one box at a time.
    ///
    /// # Errors
    ///
    /// [`FleetError`] if the bucket of the offers can be neither read nor made.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the calls under way, and leaves the offers to expire.
    pub async fn serve(&self, toolbox: ToolBox) -> Result<(), FleetError> {
        // Boxed, since the future is large.
        Box::pin(self.serve_until(toolbox, std::future::pending())).await
    }

    /// Offers the permitted tools of a box like [`serve`](Self::serve), until `shutdown` is ready.
    ///
    /// Then the offers are removed, no more calls are taken, and those under way have the
    /// [`drain_time`](Self::drain_time) to finish before they are cancelled.
    ///
    /// # Errors
    ///
    /// As for [`serve`](Self::serve).
    ///
    /// # Cancellation
    ///
    /// As for [`serve`](Self::serve).
    pub async fn serve_until(
        &self,
        toolbox: ToolBox,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), FleetError> {
        let connection = &self.connection;
        let bucket = Bucket::open(connection).await?;
        let counts = Arc::clone(&self.state.counts);
        let limits = self.limits.clone();
        let service = Service::new(Arc::clone(connection), toolbox.clone(), limits, counts);
        let _ending = EndOnDrop(Arc::clone(&service));
        let _beating = service.start_beats().map_err(FleetError::Thread)?;
        let _cancelling = self.take_cancellations(&service).await?;
        #[cfg(feature = "durable")]
        let queue = if self.durable { Some(QueueService::open(&service).await?) } else { None };
        let mut offers = Offers {
            worker: self,
            service,
            #[cfg(feature = "durable")]
            queue,
            bucket,
            open: BTreeMap::new(),
        };
        let mut connected = connection.events.connected();
        connected.mark_unchanged();
        let mut lost = connection.events.lost();
        let mut denials = connection.events.denials();
        let mut shutdown = std::pin::pin!(shutdown);
        let mut seen = toolbox.generation();
        offers.refresh(&toolbox).await?;
        let mut beats = tokio::time::interval(offers.bucket.lifetime / 3);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        beats.tick().await;
        loop {
            let event = tokio::select! {
                biased;
                () = &mut shutdown => break,
                generation = toolbox.changed_since(seen) => WorkerEvent::Changed(generation),
                _ = connected.changed() => WorkerEvent::Repeat,
                _ = beats.tick() => WorkerEvent::Repeat,
                _ = lost.changed() => WorkerEvent::Lost,
                Ok(denial) = denials.recv() => WorkerEvent::Denied(denial),
            };
            match event {
                WorkerEvent::Changed(generation) => {
                    seen = generation;
                    if let Err(error) = offers.refresh(&toolbox).await {
                        connection.events.notice(&error.to_string());
                    }
                }
                WorkerEvent::Repeat => offers.repeat().await,
                WorkerEvent::Denied(denial) => offers.withhold(&denial).await,
                WorkerEvent::Lost => {
                    if connection.is_closed() {
                        return Err(FleetError::Closed);
                    }
                }
            }
        }
        offers.withdraw().await;
        offers.drain().await;
        Ok(())
    }

    /// Reads the messages that cancel calls.
    async fn take_cancellations(&self, service: &Arc<Service>) -> Result<AbortOnDrop, FleetError> {
        let subject = self.connection.subjects.cancel("*");
        let mut cancellations = self.subscribed(subject, None).await?;
        let service = Arc::clone(service);
        Ok(AbortOnDrop(tokio::spawn(async move {
            while let Some(message) = cancellations.next().await {
                service.cancel(message.subject.rsplit('.').next().unwrap_or_default());
            }
        })))
    }

    async fn subscribed(
        &self,
        subject: String,
        group: Option<&str>,
    ) -> Result<async_nats::Subscriber, FleetError> {
        let client = &self.connection.client;
        let subscribed = match group {
            Some(group) => client.queue_subscribe(subject, group.to_owned()).await,
            None => client.subscribe(subject).await,
        };
        subscribed.map_err(|_| FleetError::Closed)
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("fleet", &self.connection.subjects.fleet())
            .field("id", &self.state.id)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

enum WorkerEvent {
    Changed(u64),
    Repeat,
    Lost,
    Denied(String),
}

/// The offers of a worker at one moment, by the name of the tool.
struct Offers<'a> {
    worker: &'a Worker,
    service: Arc<Service>,
    /// Takes durable calls, if the worker does.
    #[cfg(feature = "durable")]
    queue: Option<Arc<QueueService>>,
    bucket: Bucket,
    open: BTreeMap<String, OpenOffer>,
}

struct OpenOffer {
    tool: Tool,
    written: WrittenOffer,
    taking: TakingCalls,
    #[cfg(feature = "durable")]
    queued: Option<TakingCalls>,
}

impl OpenOffer {
    /// Takes the calls that have arrived, and no more.
    async fn finish(self) {
        #[cfg(feature = "durable")]
        if let Some(queued) = self.queued {
            queued.finish().await;
        }
        self.taking.finish().await;
    }
}

/// The task that takes the calls of one offer.
pub(super) struct TakingCalls {
    pub(super) stop: tokio::sync::oneshot::Sender<()>,
    pub(super) task: AbortOnDrop,
}

impl Offers<'_> {
    /// Offers what the box has now, and withdraws what it has no more.
    async fn refresh(&mut self, toolbox: &ToolBox) -> Result<(), FleetError> {
        let snapshot = toolbox.snapshot();
        // Offers are for all boxes of the fleet, so they hold what needs no caller.
        let is_offered =
            |tool: &&Tool| snapshot.permits(tool.name()) && toolbox.offers(tool, &UNUSED_CONTEXT);
        let tools: Vec<Tool> = snapshot.tools().filter(is_offered).cloned().collect();
        let mut withheld = Vec::new();
        let mut offered = Vec::new();
        let gone: Vec<String> = self
            .open
            .iter()
            .filter(|(name, open)| {
                !tools.iter().any(|tool| tool.name() == *name && tool.is_same(&open.tool))
            })
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            if let Some(open) = self.open.remove(&name) {
                if !tools.iter().any(|tool| tool.name() == name) {
                    self.delete(&name).await;
                }
                open.finish().await;
            }
        }
        for tool in tools {
            let name = tool.name().to_owned();
            if !self.open.contains_key(&name)
                && let Err(reason) = self.offer(tool).await?
            {
                withheld.push((name, reason));
                continue;
            }
            offered.push(name);
        }
        *self.worker.state.offered.lock() = offered;
        *self.worker.state.withheld.lock() = withheld;
        Ok(())
    }

    /// Takes calls of a tool, and then offers it. The inner error is one of this tool alone.
    async fn offer(&mut self, tool: Tool) -> Result<Result<(), String>, FleetError> {
        let name = tool.name().to_owned();
        let written = match OfferedTool::of(&tool).written(self.worker.durable) {
            Ok(written) => written,
            Err(error) => return Ok(Err(format!("its definition cannot be written: {error}"))),
        };
        let limit = self.worker.connection.client.max_payload();
        if written.value.len() > limit {
            let size = written.value.len();
            return Ok(Err(format!(
                "its definition has {size} bytes, and the server takes at most {limit}"
            )));
        }
        let taking = self.take_calls(&tool, &written.digest).await?;
        let key = subjects::key(&name, &self.worker.state.id);
        if let Err(error) = self.bucket.put(&key, written.value.clone()).await {
            return Ok(Err(format!("it cannot be offered: {error}")));
        }
        #[cfg(feature = "durable")]
        let queued = self.queue.as_ref().map(|queue| queue.take(&tool, &written.digest));
        let open = OpenOffer {
            tool,
            written,
            taking,
            #[cfg(feature = "durable")]
            queued,
        };
        self.open.insert(name, open);
        Ok(Ok(()))
    }

    async fn take_calls(&self, tool: &Tool, digest: &str) -> Result<TakingCalls, FleetError> {
        let subject = self.worker.connection.subjects.call(tool.name(), digest);
        let mut calls = self.worker.subscribed(subject, Some(GROUP)).await?;
        let (service, tool) = (Arc::clone(&self.service), tool.clone());
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let task = tokio::spawn(async move {
            loop {
                tokio::select! {
                    message = calls.next() => match message {
                        Some(message) => service.accept(&tool, message).await,
                        None => return,
                    },
                    _ = &mut stopped => break,
                }
            }
            if calls.unsubscribe_after(AT_ONCE).await.is_err() {
                return;
            }
            service.connection.round_trip().await;
            // Calls that were given to this worker by then are taken.
            while let Some(Some(message)) =
                unconstrained(async { calls.next().now_or_never() }).await
            {
                service.accept(&tool, message).await;
            }
        });
        Ok(TakingCalls { stop, task: AbortOnDrop(task) })
    }

    /// Withdraws the offer whose calls the server denies to this worker.
    async fn withhold(&mut self, denial: &str) {
        let subjects = &self.worker.connection.subjects;
        let denied = |(name, open): (&String, &OpenOffer)| {
            names(denial, &subjects.call(name, &open.written.digest)).then(|| name.clone())
        };
        let Some(name) = self.open.iter().find_map(denied) else { return };
        self.open.remove(&name);
        self.delete(&name).await;
        self.worker.state.offered.lock().retain(|offered| *offered != name);
        let reason = "the server denies its calls to this worker".to_owned();
        self.worker.state.withheld.lock().push((name, reason));
    }

    /// Puts all offers again, into a new bucket if the old one is gone.
    async fn repeat(&mut self) {
        if !self.worker.connection.is_connected() {
            return;
        }
        for attempt in 0..2 {
            let mut failure = None;
            for (name, open) in &self.open {
                let key = subjects::key(name, &self.worker.state.id);
                if let Err(error) = self.bucket.put(&key, open.written.value.clone()).await {
                    failure = Some(error);
                    break;
                }
            }
            let Some(error) = failure else { return };
            let notice = match Bucket::open(&self.worker.connection).await {
                Ok(bucket) if attempt == 0 => {
                    self.bucket = bucket;
                    continue;
                }
                Ok(_) => format!("the offers cannot be repeated: {error}"),
                Err(error) => error.to_string(),
            };
            return self.worker.connection.events.notice(&notice);
        }
    }

    async fn delete(&self, tool: &str) {
        let key = subjects::key(tool, &self.worker.state.id);
        if let Err(error) = self.bucket.delete(&key).await {
            let notice = format!("the offer of `{tool}` cannot be removed, and expires: {error}");
            self.worker.connection.events.notice(&notice);
        }
    }

    /// Removes all offers, and takes no further calls.
    async fn withdraw(&mut self) {
        self.worker.state.offered.lock().clear();
        for (name, open) in std::mem::take(&mut self.open) {
            if self.worker.connection.is_connected() {
                self.delete(&name).await;
            }
            open.finish().await;
        }
    }

    /// Waits for the calls under way, and cancels those that take too long.
    async fn drain(&self) {
        let limits = &self.service.limits;
        let all = u32::try_from(limits.calls).unwrap_or(u32::MAX);
        let drained = self.service.permits.acquire_many(all);
        if tokio::time::timeout(limits.drain, drained).await.is_err() {
            self.service.ending.cancel();
            // A cancelled call is answered at once, unless its tool blocks.
            let drained = self.service.permits.acquire_many(all);
            let _ = tokio::time::timeout(Duration::from_secs(1), drained).await;
        }
        let _ = tokio::time::timeout(Duration::from_secs(5), self.worker.connection.client.flush())
            .await;
    }
}

impl TakingCalls {
    /// Takes the calls that have arrived, and ends.
    async fn finish(self) {
        let Self { stop, mut task } = self;
        let _ = stop.send(());
        let _ = tokio::time::timeout(Duration::from_secs(5), &mut task.0).await;
    }
}

/// Aborts a task when it is dropped.
pub(super) struct AbortOnDrop(pub(super) JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Cancels the calls of a worker when it stops.
struct EndOnDrop(Arc<Service>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.ending.cancel();
    }
}
