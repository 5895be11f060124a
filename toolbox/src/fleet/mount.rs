//! Mounts the tools of a fleet into a box.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_nats::jetstream::kv::{Entry, Operation};
use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::time::Instant;

use super::bucket::Bucket;
use super::calls::{OpenCalls, call_inbox};
use super::connection::Connection;
use super::error::FleetError;
use super::offer::OfferedTool;
use super::options::FleetOptions;
use super::payload::Payloads;
use super::remote::{Caller, RemoteTool};
use super::status::{FleetStatus, FleetTool, WithheldOffer, WithheldOfferReason};
use super::subjects;
use super::table::{AvailableTool, Pins, Table};
use super::worker::AbortOnDrop;
use crate::call::{Arguments, FailureKind, ToolResult};
use crate::collection::{ToolBox, WeakToolBox};
use crate::context::ToolContext;
use crate::definition::check_name;
use crate::sync::Mutex;
use crate::tool::Tool;

/// The longest time to wait for the offers that are there when a fleet is mounted.
const FIRST_OFFERS: Duration = Duration::from_secs(5);
/// The time between two attempts to watch the offers.
const RETRY: Duration = Duration::from_millis(500);

/// A connection to a fleet, whose tools can be mounted into boxes.
///
/// The definition of a tool is pinned when it is first seen, for as long as the connection or a
/// mount of it exists. A worker with another definition of that name gets no calls, and its offer
/// is
/// [withheld](FleetStatus::withheld) until it is [approved](Mounted::approve).
///
/// ```no_run
/// use toolbox::fleet::{Fleet, FleetOptions};
/// use toolbox::{ToolBox, ToolCall};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), toolbox::fleet::FleetError> {
/// let toolbox = ToolBox::new();
/// let fleet = Fleet::connect("nats://127.0.0.1:4222", FleetOptions::new()).await?;
/// let mounted = fleet.mount(&toolbox).await?;
/// for tool in mounted.status().tools {
///     println!("{}: {} workers", tool.name, tool.workers);
/// }
/// let result = toolbox.call(ToolCall::new("1", "add", r#"{"a": 2, "b": 3}"#)).await;
/// println!("{}", result.text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Fleet {
    caller: Arc<Caller>,
    pins: Arc<Mutex<Pins>>,
    prefix: Option<String>,
    untrusted: bool,
}

impl Fleet {
    /// Connects to the server of a fleet. Several URLs are separated by commas.
    ///
    /// # Errors
    ///
    /// [`FleetError`] if no server can be reached or the credentials are refused.
    pub async fn connect(servers: &str, options: FleetOptions) -> Result<Self, FleetError> {
        let connection = Connection::open(servers, options).await?;
        let calls = OpenCalls::listen(&connection).await.map_err(|_| FleetError::Closed)?;
        let inbox = call_inbox(&connection);
        let caller = Caller { connection, calls, inbox, payloads: Payloads::default() };
        Ok(Self { caller: Arc::new(caller), pins: Arc::default(), prefix: None, untrusted: false })
    }

    /// Names the tools `<prefix>_<name>` in boxes that mount the fleet from here on. Default: no
    /// prefix, so that tools have the same names on one machine and on many.
    #[must_use]
    pub fn prefixed(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(format!("{}_", prefix.into()));
        self
    }

    /// Treats the definitions and results of all tools as [untrusted](Tool::untrusted). Default: as
    /// the workers declare them.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.untrusted = true;
        self
    }

    /// Puts the tools of the fleet into a box, and keeps it up to date as workers come and go.
    ///
    /// Waits for the offers that are there. A tool whose name is taken in the box is withheld.
    ///
    /// # Errors
    ///
    /// [`FleetError`] if the bucket of the offers can be neither read nor made, or the prefix
    /// cannot begin the name of a tool.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves nothing in the box.
    pub async fn mount(&self, toolbox: &ToolBox) -> Result<Mounted, FleetError> {
        if let Some(prefix) = &self.prefix
            && check_name(prefix).is_err()
        {
            return Err(FleetError::Name(prefix.clone()));
        }
        let bucket = Bucket::open(&self.caller.connection).await?;
        let has_offers = bucket.has_offers;
        let board = Arc::new(Board {
            fleet: self.clone(),
            source: Arc::from(self.caller.connection.subjects.fleet()),
            toolbox: toolbox.downgrade(),
            now: Mutex::default(),
            is_current: watch::Sender::new(!has_offers),
        });
        let following = AbortOnDrop(tokio::spawn(follow(Arc::downgrade(&board), bucket)));
        let mounted = Mounted { board, _following: Arc::new(following) };
        let mut current = mounted.board.is_current.subscribe();
        let first = current.wait_for(|current| *current);
        let _ = tokio::time::timeout(FIRST_OFFERS, first).await;
        Ok(mounted)
    }
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet")
            .field("name", &self.caller.connection.subjects.fleet())
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

/// The tools of a fleet in a box. They leave it when the last clone is dropped.
#[derive(Clone)]
#[must_use = "the tools leave the box when it is dropped"]
pub struct Mounted {
    board: Arc<Board>,
    _following: Arc<AbortOnDrop>,
}

impl Mounted {
    /// Returns the current status.
    #[must_use]
    pub fn status(&self) -> FleetStatus {
        self.board.status()
    }

    /// Approves another definition of a tool in place of the pinned one, by the
    /// [digest](super::WithheldOffer::digest) of the status that showed it; returns `false` if no
    /// worker offers that definition any more.
    #[allow(clippy::must_use_candidate, reason = "approving is enough")]
    pub fn approve(&self, tool: &str, digest: &str) -> bool {
        let approved = {
            let now = self.board.now.lock();
            now.table.approve(&mut self.board.fleet.pins.lock(), tool, digest)
        };
        if approved {
            self.board.exchange();
        }
        approved
    }

    /// Returns the tools in the box whose durable calls a worker takes now.
    #[cfg(feature = "durable")]
    pub(super) fn durable_tools(&self) -> Vec<(Tool, Arc<RemoteTool>)> {
        let now = self.board.now.lock();
        let takes =
            |(own, mounted): &&(String, MountedTool)| now.table.takes_durable(own, &mounted.digest);
        let both = |(_, mounted): &(String, MountedTool)| {
            (mounted.tool.clone(), Arc::clone(&mounted.remote))
        };
        now.tools.iter().filter(takes).map(both).collect()
    }

    #[cfg(feature = "durable")]
    pub(super) fn toolbox(&self) -> Option<ToolBox> {
        self.board.toolbox.upgrade()
    }

    #[cfg(feature = "durable")]
    pub(super) fn caller(&self) -> &Arc<Caller> {
        &self.board.fleet.caller
    }

    /// Waits until a tool of that name at the workers is in the box.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves nothing behind.
    pub async fn until_offered(&self, tool: &str) {
        let Some(toolbox) = self.board.toolbox.upgrade() else { return };
        loop {
            let seen = toolbox.generation();
            let is_there = self.board.now.lock().tools.iter().any(|(own, _)| own == tool);
            if is_there {
                return;
            }
            toolbox.changed_since(seen).await;
        }
    }
}

impl fmt::Debug for Mounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mounted").field("status", &self.status()).finish()
    }
}

/// The offers of a fleet, and the tools made of them that are in one box.
struct Board {
    fleet: Fleet,
    source: Arc<str>,
    toolbox: WeakToolBox,
    now: Mutex<MountedNow>,
    /// `true` once the offers that were there first were read.
    is_current: watch::Sender<bool>,
}

#[derive(Default)]
struct MountedNow {
    table: Table,
    /// By the name at the workers.
    tools: Vec<(String, MountedTool)>,
    taken: Vec<WithheldOffer>,
}

#[derive(Clone)]
struct MountedTool {
    tool: Tool,
    digest: String,
    #[cfg(feature = "durable")]
    remote: Arc<RemoteTool>,
}

impl Board {
    fn connection(&self) -> &Connection {
        &self.fleet.caller.connection
    }

    /// Reads an entry of the bucket; returns `true` if the box has to change.
    fn note(&self, entry: &Entry) -> bool {
        let Some((tool, worker)) = subjects::of_key(&entry.key) else { return false };
        let mut now = self.now.lock();
        match entry.operation {
            Operation::Put => {
                let mut pins = self.fleet.pins.lock();
                now.table.put(&mut pins, (&tool, worker), &entry.value, Instant::now())
            }
            Operation::Delete | Operation::Purge => now.table.remove(&tool, worker),
        }
    }

    /// Puts the tools that are offered now into the box, in place of those before.
    fn exchange(self: &Arc<Self>) {
        let Some(toolbox) = self.toolbox.upgrade() else { return };
        let mut now = self.now.lock();
        let before: HashMap<String, MountedTool> = now.tools.drain(..).collect();
        let available: Vec<AvailableTool> = now.table.available(&self.fleet.pins.lock()).collect();
        let mut tools = Vec::new();
        let mut taken = Vec::new();
        let mut changed = Vec::new();
        for offered in available {
            let own = &offered.tool.name;
            let name = format!("{}{own}", self.fleet.prefix.as_deref().unwrap_or_default());
            if is_taken(&toolbox, &name, before.get(own)) {
                taken.push(withheld(
                    own,
                    WithheldOfferReason::NameTaken,
                    format!("`{name}` is another tool of the box"),
                ));
                continue;
            }
            let kept = before.get(own).filter(|kept| {
                kept.digest == offered.digest
                    && toolbox.has(kept.tool.name())
                    && kept.tool.definition().replaces == self.old_names(&offered.tool)
            });
            let mounted = match kept {
                Some(kept) => kept.clone(),
                None => match self.make(&toolbox, &name, &offered) {
                    Ok(mounted) => {
                        changed.push(mounted.tool.clone());
                        mounted
                    }
                    Err(detail) => {
                        taken.push(withheld(own, WithheldOfferReason::Invalid, detail));
                        continue;
                    }
                },
            };
            tools.push((own.clone(), mounted));
        }
        let kept: HashSet<&str> = tools.iter().map(|(_, mounted)| mounted.tool.name()).collect();
        let gone: HashMap<&str, &MountedTool> = before
            .values()
            .map(|old| (old.tool.name(), old))
            .filter(|(name, _)| !kept.contains(name))
            .collect();
        // A tool that the program has since put under this name is not the fleet's.
        let is_gone =
            |there: &Tool| gone.get(there.name()).is_some_and(|old| there.is_same(&old.tool));
        toolbox.exchange(is_gone, changed);
        (now.tools, now.taken) = (tools, taken);
    }

    /// Makes the tool of an offer.
    fn make(
        self: &Arc<Self>,
        toolbox: &ToolBox,
        name: &str,
        offered: &AvailableTool,
    ) -> Result<MountedTool, String> {
        let definition = &offered.tool;
        let remote = Arc::new(RemoteTool {
            subject: self.connection().subjects.call(&definition.name, &offered.digest).into(),
            is_idempotent: definition.hints().is_idempotent(),
            #[cfg(feature = "durable")]
            name_and_digest: (definition.name.clone(), offered.digest.clone()),
            timeout: definition.timeout().or(toolbox.shared.settings.timeout),
            prefix: self.fleet.prefix.clone(),
            toolbox: toolbox.downgrade(),
        });
        let caller = Arc::downgrade(&self.fleet.caller);
        #[cfg(feature = "durable")]
        let own = Arc::clone(&remote);
        let call = move |context: ToolContext, arguments: Arguments| {
            let (caller, remote) = (Weak::clone(&caller), Arc::clone(&remote));
            async move {
                match caller.upgrade() {
                    Some(caller) => caller.call(&remote, &context, arguments.as_str()).await,
                    None => gone(context.tool_name()),
                }
            }
        };
        let schema = definition.input_schema.clone();
        let tool = Tool::try_raw(name, definition.description.clone(), schema, call)
            .map_err(|error| error.to_string())?
            // The worker reads the arguments, and its message is that of the tool itself.
            .with_unchecked_arguments()
            // A call that waits for approval is deferred by this crate's own words.
            .relaying()
            .from_source(Arc::clone(&self.source))
            .with_name_at_source(Arc::from(definition.name.as_str()))
            .replaces(self.old_names(definition));
        let tool = definition.dress(tool);
        Ok(MountedTool {
            tool: if self.fleet.untrusted {
                tool.untrusted().with_untrusted_definition()
            } else {
                tool
            },
            digest: offered.digest.clone(),
            #[cfg(feature = "durable")]
            remote: own,
        })
    }

    /// Returns the names that a tool had before, as the box has them. One that is the name of a
    /// tool of the fleet stays that, though nobody offers it now.
    fn old_names(&self, tool: &OfferedTool) -> Vec<String> {
        let pins = self.fleet.pins.lock();
        let free = tool.replaces.iter().filter(|old| pins.get(old).is_none());
        let prefix = self.fleet.prefix.as_deref().unwrap_or_default();
        let names = free.map(|old| format!("{prefix}{old}"));
        names.filter(|old| check_name(old).is_ok()).collect()
    }

    fn status(&self) -> FleetStatus {
        let now = self.now.lock();
        let pins = self.fleet.pins.lock();
        let workers: HashMap<String, usize> = now
            .table
            .available(&pins)
            .map(|offered| (offered.tool.name.clone(), offered.workers))
            .collect();
        let tools = now.tools.iter().map(|(own, mounted)| FleetTool {
            name: mounted.tool.name().to_owned(),
            name_at_worker: own.clone(),
            workers: workers.get(own).copied().unwrap_or_default(),
        });
        let mut withheld = now.table.withheld(&pins);
        withheld.extend(now.taken.iter().cloned());
        let connection = self.connection();
        let mut notices = connection.events.notices();
        if now.table.is_full() {
            notices
                .push("the fleet has more offers than are read; the rest is left out".to_owned());
        }
        FleetStatus {
            connected: connection.is_connected(),
            server_version: connection.server_version(),
            missing: connection.missing(),
            tools: tools.collect(),
            withheld,
            discarded: self.fleet.caller.calls.discarded(),
            notices,
        }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let Some(toolbox) = self.toolbox.upgrade() else { return };
        let tools = std::mem::take(&mut self.now.lock().tools);
        let is_ours = |there: &Tool| tools.iter().any(|(_, mounted)| there.is_same(&mounted.tool));
        toolbox.exchange(is_ours, Vec::new());
    }
}

/// Returns `true` if a tool of the box has the name, in whatever case, and is not the one that was
/// mounted before.
fn is_taken(toolbox: &ToolBox, name: &str, before: Option<&MountedTool>) -> bool {
    let is_own = |there: &Tool| before.is_some_and(|own| there.is_same(&own.tool));
    let is_other = |there: &Tool| there.name().eq_ignore_ascii_case(name) && !is_own(there);
    toolbox.snapshot().tools().any(is_other)
}

fn withheld(tool: &str, reason: WithheldOfferReason, detail: String) -> WithheldOffer {
    WithheldOffer { tool: tool.to_owned(), worker: String::new(), reason, detail, digest: None }
}

fn gone(tool: &str) -> ToolResult {
    let text = format!("tool `{tool}` is gone: its fleet was closed");
    ToolResult::failure(FailureKind::Infrastructure, text)
}

/// Follows the offers of a fleet, for as long as a box uses them.
async fn follow(board: Weak<Board>, first: Bucket) {
    let mut lifetime = first.lifetime;
    let mut bucket = Some(first);
    loop {
        let (connection, events) = {
            let Some(board) = board.upgrade() else { return };
            (Arc::clone(&board.fleet.caller), board.connection().events.connected())
        };
        let opened = match bucket.take() {
            Some(bucket) => Ok(bucket),
            None => Bucket::open(&connection.connection).await,
        };
        let failed = match opened {
            Ok(bucket) => {
                lifetime = bucket.lifetime;
                watch_offers(&board, &bucket, events).await.err()
            }
            Err(error) => Some(error.to_string()),
        };
        if let Some(error) = failed
            && connection.connection.is_connected()
        {
            let notice = format!("the offers cannot be watched: {error}");
            connection.connection.events.notice(&notice);
        }
        drop(connection);
        tokio::time::sleep(RETRY).await;
        let Some(board) = board.upgrade() else { return };
        // Without a connection nothing is repeated either.
        let is_changed = board.now.lock().table.expire(lifetime, Instant::now());
        if is_changed {
            board.exchange();
        }
    }
}

/// The exchanges of the tools in a box: one for all changes that come while it may not be made.
struct Exchanges {
    is_wanted: bool,
    /// The earliest time of the next: they take a tenth of the time, however many offers come, and
    /// more only where one would be more than [`LONGEST_PAUSE`] late.
    earliest: Instant,
}

/// The longest time for which a change waits, after an exchange that took long.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Default for Exchanges {
    fn default() -> Self {
        Self { is_wanted: false, earliest: Instant::now() }
    }
}

impl Exchanges {
    /// Returns the time of the next, if one is wanted.
    fn due(&self) -> Option<Instant> {
        self.is_wanted.then_some(self.earliest)
    }

    /// Makes the one that is due.
    fn make(&mut self, exchange: impl FnOnce()) {
        let began = Instant::now();
        if self.is_wanted && began >= self.earliest {
            exchange();
            self.is_wanted = false;
            let ended = Instant::now();
            self.earliest = ended + (9 * ended.duration_since(began)).min(LONGEST_PAUSE);
        }
    }
}

/// Reads offers until the watch has to be made anew.
async fn watch_offers(
    board: &Weak<Board>,
    bucket: &Bucket,
    mut connected: watch::Receiver<u64>,
) -> Result<(), String> {
    connected.mark_unchanged();
    let mut offers = bucket.watch().await.map_err(|error| error.to_string())?;
    let mut sweep = tokio::time::interval(bucket.lifetime / 4);
    let mut exchanges = Exchanges::default();
    loop {
        let due = exchanges.due();
        let entry = tokio::select! {
            entry = offers.next() => match entry {
                Some(Ok(entry)) => Some(entry),
                Some(Err(error)) => return Err(error.to_string()),
                None => return Err("the server ended the watch".to_owned()),
            },
            // What was missed meanwhile is read again from the start.
            _ = connected.changed() => return Ok(()),
            () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => None,
            _ = sweep.tick() => None,
        };
        let Some(board) = board.upgrade() else { return Ok(()) };
        let (is_changed, is_current) = match &entry {
            Some(entry) => (board.note(entry), entry.seen_current),
            None => {
                let mut now = board.now.lock();
                (now.table.expire(bucket.lifetime, Instant::now()), false)
            }
        };
        let was_current = *board.is_current.borrow();
        // The box changes once for all offers that are there first.
        if (is_changed && was_current) || (is_current && !was_current) {
            exchanges.is_wanted = true;
        }
        exchanges.make(|| board.exchange());
        if is_current && !was_current {
            board.is_current.send_replace(true);
        }
    }
}
