//! One server over its lifetime: connected, lost, reconnected.

mod call;
mod connecting;
mod links;
mod retire;
mod task;

use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, MutexGuard, Weak};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::connection::{Connection, ConnectionTarget};
use super::connection_error::ConnectionError;
use super::list::ToolList;
use super::mounted::MountedOffers;
use super::server_log::ServerLog;
use super::shared_state::SharedState;
use super::startup::Startup;
use super::status::{ServerState, ServerStatus};
use super::text;
use crate::call::{FailureKind, ToolResult};
use crate::context::CancellationToken;
use crate::mcp::config::{ServerConfig, ServerEndpoint, public_url};
use crate::mcp::count::Count;
use crate::mcp::names::Names;
use crate::resource::Resource;
use crate::sync::Mutex;
use crate::text::cut;
use connecting::{ConnectFailure, backoff};

/// The minimum interval between two readings of a list.
const REFRESH: Duration = Duration::from_secs(1);
/// The age from which a connection counts as stable.
const SOUND: Duration = Duration::from_secs(30);
const GONE: &str = "the server was removed or closed";

/// Returns the advice to users whose grant is good no more.
pub(crate) fn sign_in_again(server: &str) -> String {
    format!("sign in again: `toolbox login {server}`")
}

pub(super) struct Server {
    pub(super) name: Arc<str>,
    pub(super) config: ServerConfig,
    pub(super) deferred: bool,
    pub(super) shared: Arc<SharedState>,
    #[cfg(feature = "mcp-oauth")]
    tokens: Option<super::oauth::Tokens>,
    /// Held while connecting.
    connecting: tokio::sync::Mutex<()>,
    now: Mutex<Now>,
    /// `true` once a connection was tried.
    tried: watch::Sender<bool>,
    /// The number of consecutive connections that did not become stable.
    losses: AtomicU32,
    /// The number of consecutive attempts to connect that took too long.
    timeouts: AtomicU32,
    /// Cancelled when the server is removed, and when all are closed: nothing connects then.
    gone: CancellationToken,
    /// The calls that the server has not answered.
    calls: Count,
    /// What it prints and logs.
    pub(super) log: Arc<ServerLog>,
}

/// The data needed to call a mounted tool.
pub(super) struct CalledTool {
    /// The server's own name of the tool.
    pub(super) name: Arc<str>,
    /// The schema that its results should match.
    pub(super) output_schema: Option<Value>,
    /// `true` if a call that may have run can be made again.
    pub(super) repeats: bool,
}

/// The current state of a server.
#[derive(Default)]
struct Now {
    connection: Option<Arc<Connection>>,
    state: Option<ServerState>,
    /// The attempt to connect that is in progress.
    startup: Option<Arc<Startup>>,
    failure: Option<ConnectFailure>,
    wants_sign_in: bool,
    listed: Option<Arc<ToolList>>,
    mounted: MountedOffers,
    notices: Vec<String>,
    /// The tools that returned a result which does not match their output schema.
    misfits: HashSet<Arc<str>>,
    /// The resources that its results refer to, and that it does not list.
    linked: VecDeque<Resource>,
}

impl Server {
    pub(super) fn new(
        name: Arc<str>,
        config: ServerConfig,
        deferred: bool,
        shared: Arc<SharedState>,
    ) -> Arc<Self> {
        let gone = shared.closed.child_token();
        let log = Arc::new(ServerLog::new(&config));
        Arc::new(Self {
            name,
            #[cfg(feature = "mcp-oauth")]
            tokens: super::oauth::Tokens::of(&config, shared.common.credentials.as_ref()),
            config,
            deferred,
            shared,
            connecting: tokio::sync::Mutex::default(),
            now: Mutex::default(),
            tried: watch::Sender::new(false),
            losses: AtomicU32::new(0),
            timeouts: AtomicU32::new(0),
            gone,
            calls: Count::default(),
            log,
        })
    }

    fn target<'a>(&'a self, startup: &'a Startup) -> ConnectionTarget<'a> {
        ConnectionTarget {
            name: &self.name,
            config: &self.config,
            startup,
            log: &self.log,
            #[cfg(feature = "mcp-oauth")]
            tokens: self.tokens.as_ref(),
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock()
    }

    /// Locks the right to change the box; `None` once the server is removed or closed.
    fn mounting(&self) -> Option<MutexGuard<'_, ()>> {
        let guard = self.shared.mounting.lock();
        (!self.gone.is_cancelled()).then_some(guard)
    }

    fn change(&self, change: impl FnOnce(&mut Now)) {
        change(&mut self.now());
        if let Some(listener) = &self.shared.on_change {
            listener(&self.status());
        }
    }

    /// Reports the current status to the listener.
    pub(super) fn announce(&self) {
        self.change(|_| {});
    }

    pub(super) fn status(&self) -> ServerStatus {
        let now = self.now();
        let idle = if self.config.enabled { ServerState::Waiting } else { ServerState::Disabled };
        let state =
            if self.gone.is_cancelled() { ServerState::Closed } else { now.state.unwrap_or(idle) };
        let info = now.connection.as_ref().and_then(|connection| connection.info());
        let cleaned = |text: &str| text::clean(cut(text, 4096)).into_owned();
        let own = info.as_ref().and_then(|info| info.server_info.as_ref());
        let mut notices = now.notices.clone();
        let listed = now.listed.iter();
        notices.extend(
            listed.flat_map(|listed| listed.notices.iter().chain(&listed.offers.notices)).cloned(),
        );
        notices.extend(now.mounted.notices.iter().cloned());
        if let Some(connection) = &now.connection {
            notices.extend(connection.notifications.notices());
        }
        ServerStatus {
            name: self.name.to_string(),
            target: match &self.config.endpoint {
                ServerEndpoint::Command { program, arguments, .. } => {
                    std::iter::once(program).chain(arguments).cloned().collect()
                }
                ServerEndpoint::Url { url, .. } => vec![public_url(url)],
            },
            state,
            protocol_version: info.as_ref().map(|info| cleaned(info.protocol_version.as_str())),
            server_name: own.map(|own| cleaned(&own.name)).filter(|name| !name.is_empty()),
            server_version: own.map(|own| cleaned(&own.version)).filter(|own| !own.is_empty()),
            capabilities: info
                .as_ref()
                .and_then(|info| serde_json::to_value(&info.capabilities).ok()),
            instructions: info.as_ref().and_then(|info| info.instructions.as_deref()).map(cleaned),
            tools: now.mounted.tools.iter().map(|tool| tool.name().to_owned()).collect(),
            is_cut: now.listed.as_ref().is_some_and(|listed| listed.is_cut),
            prompts: now.mounted.prompts.iter().map(|own| own.name().to_owned()).collect(),
            resources: now.mounted.resources.iter().map(|own| own.uri().to_owned()).collect(),
            withheld: now.mounted.withheld.clone(),
            digest: now.mounted.digest.clone(),
            notices,
            startup: now
                .startup
                .as_ref()
                .filter(|_| state == ServerState::Connecting)
                .map(|startup| startup.status()),
            error: now.failure.as_ref().map(|failure| failure.text.clone()),
            wants_sign_in: now.wants_sign_in,
        }
    }

    /// Returns the mounted tools, to find their names in descriptions of other servers.
    pub(super) fn mounted(&self) -> Vec<crate::tool::Tool> {
        self.now().mounted.tools.clone()
    }

    fn connection(&self) -> Option<Arc<Connection>> {
        self.now().connection.clone().filter(|connection| !connection.is_closed())
    }

    /// Blames the configured token if there is one: a sign-in would not help.
    fn explained(&self, error: ConnectionError) -> ConnectionError {
        match error {
            ConnectionError::Unauthorized { .. } if self.config.has_own_token() => {
                let reason =
                    "it does not take the header `Authorization` of the configuration: correct it";
                let reason = reason.to_owned();
                let (is_challenged, is_ended) = (false, false);
                ConnectionError::Unauthorized { reason, is_challenged, is_ended, scopes: None }
            }
            ConnectionError::Unauthorized { reason, is_ended: true, is_challenged, scopes } => {
                let reason = format!("{reason}: {}", sign_in_again(&self.name));
                ConnectionError::Unauthorized { reason, is_ended: true, is_challenged, scopes }
            }
            ConnectionError::Unauthorized { scopes, is_challenged, is_ended, .. }
                if self.config.has_program_grant() =>
            {
                let mut reason =
                    "it does not take the token that was granted to this program".to_owned();
                if let Some(scopes) = &scopes {
                    let scopes = text::clean(cut(scopes, 256));
                    let _ = write!(reason, ", and requires the scope `{scopes}`");
                }
                ConnectionError::Unauthorized { reason, is_challenged, is_ended, scopes }
            }
            error => error,
        }
    }

    fn wants_sign_in(&self, error: &ConnectionError) -> bool {
        matches!(error, ConnectionError::Unauthorized { is_challenged: true, .. })
            && self.config.has_user()
    }

    /// Adopts a new connection, whose tools are in the box already, and spawns the task that
    /// supervises it.
    pub(super) fn settle(self: &Arc<Self>, connection: Arc<Connection>) {
        self.change(|now| {
            now.connection = Some(Arc::clone(&connection));
            now.state = Some(ServerState::Ready);
            now.startup = None;
            now.failure = None;
            now.wants_sign_in = false;
        });
        self.timeouts.store(0, Ordering::Relaxed);
        self.tried.send_replace(true);
        tokio::spawn(supervise(Arc::downgrade(self), Arc::clone(&self.shared), connection));
    }

    /// Puts the tools of a list into the box, in place of the previous ones.
    pub(super) async fn mount(self: &Arc<Self>, listed: ToolList) {
        let server = Arc::clone(self);
        let mount = move || {
            let Some(_mounting) = server.mounting() else { return };
            let mounted = server.mounted_of(&listed);
            server.now().listed = Some(Arc::new(listed));
            server.exchange(mounted);
        };
        if self.shared.has_lock() {
            // Another program may hold the lock file, and reading a disk blocks.
            let _ = tokio::task::spawn_blocking(mount).await;
        } else {
            mount();
        }
    }

    /// Replaces the mounted tools. The caller holds `mounting`.
    fn exchange(&self, mounted: MountedOffers) {
        let before = std::mem::take(&mut self.now().mounted);
        self.put(&before, &mounted);
        if self.gone.is_cancelled() {
            self.forget_links();
        }
        self.now().mounted = mounted;
    }

    fn put(&self, before: &MountedOffers, now: &MountedOffers) {
        self.shared.put(&before.tools, &now.tools);
        self.shared.put_prompts(&before.prompts, &now.prompts);
        self.shared.put_resources(&before.resources, &now.resources);
    }

    /// Evaluates the last list again after an approval.
    pub(super) fn remount(self: &Arc<Self>) {
        let Some(listed) = self.listed() else { return };
        {
            let Some(_mounting) = self.mounting() else { return };
            self.exchange(self.mounted_of(&listed));
        }
        self.announce();
    }

    /// Evaluates the last list again if other servers changed the names of its tools.
    pub(super) fn rename(self: &Arc<Self>, before: &Names, now: &Names) {
        let Some(_mounting) = self.mounting() else { return };
        let Some(listed) = self.listed() else { return };
        let tools = || listed.tools.iter().map(|tool| tool.name.as_str());
        if before.of_server(&self.name, tools()) != now.of_server(&self.name, tools()) {
            self.exchange(self.mounted_of(&listed));
        }
    }

    pub(super) fn listed(&self) -> Option<Arc<ToolList>> {
        self.now().listed.clone()
    }

    /// Returns whether a tool returned a result that does not match its output schema.
    pub(super) fn distrusts_output_of(&self, tool: &str) -> bool {
        self.now().misfits.contains(tool)
    }

    /// Removes the output schema of a tool whose results do not match it: it would be passed on to
    /// clients that rely on it.
    async fn withdraw_output_schema(self: &Arc<Self>, tool: &Arc<str>) {
        if self.now().misfits.insert(Arc::clone(tool)) {
            let server = Arc::clone(self);
            // Another program may hold the lock file.
            let _ = tokio::task::spawn_blocking(move || server.remount()).await;
        }
    }

    fn lost(&self, tool: &str, reason: &str) -> ToolResult {
        let message = format!(
            "tool `{tool}` has no answer: the connection to server `{}` failed: {reason}",
            self.name
        );
        ToolResult::failure(FailureKind::Infrastructure, message)
    }

    /// Reads the list again.
    async fn refresh(self: &Arc<Self>, connection: &Connection) {
        match tokio::time::timeout(self.config.connect_timeout, connection.list()).await {
            Ok(Ok(listed)) => {
                self.mount(listed).await;
                self.change(|now| now.notices.clear());
            }
            Ok(Err(error)) => self.note_stale(&error.to_string()),
            Err(_) => self.note_stale("no answer in time"),
        }
    }

    /// Has the list read again, as after a notification of a change.
    pub(super) fn list_again(&self) {
        if let Some(connection) = self.connection() {
            connection.notifications.list_changed();
        }
    }

    fn note_stale(&self, reason: &str) {
        let notice = format!("its list of tools changed and cannot be read again: {reason}");
        self.change(|now| now.notices = vec![notice]);
    }

    /// Ends the connection, if any, and everything it runs.
    pub(super) async fn close(&self) {
        {
            // A mount in progress is waited for; a later one finds everything closed.
            let _mounting = self.shared.mounting.lock();
            self.exchange(MountedOffers::default());
        }
        let connection = self.now().connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
        self.tried.send_replace(true);
    }

    /// Waits; returns `true` if the server was removed or closed meanwhile.
    async fn sleep_unless_gone(&self, time: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(time) => false,
            () = self.gone.cancelled() => true,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.forget_links();
        let now = std::mem::take(&mut *self.now());
        self.put(&now.mounted, &MountedOffers::default());
    }
}

/// Supervises one connection: reads the list again when it changes, and reconnects when it ends.
async fn supervise(server: Weak<Server>, shared: Arc<SharedState>, connection: Arc<Connection>) {
    let since = Instant::now();
    // Both end with this.
    let mut following = JoinSet::new();
    if let Some(server) = server.upgrade() {
        let resources = shared.toolbox.resources();
        let (connection, resources, name) =
            (Arc::clone(&connection), resources, Arc::clone(&server.name));
        following.spawn(async move {
            tokio::join!(
                connection.follow_changes(&resources, &name),
                connection.forward_updates(&resources, &name),
            )
        });
    }
    loop {
        tokio::select! {
            () = shared.closed.cancelled() => return connection.close().await,
            () = connection.closed() => break,
            () = connection.notifications.changed() => {
                let Some(server) = server.upgrade() else { return connection.close().await };
                server.refresh(&connection).await;
                drop(server);
                // Changes that arrive in the meantime count as one.
                tokio::select! {
                    () = tokio::time::sleep(REFRESH) => {}
                    () = shared.closed.cancelled() => return connection.close().await,
                    () = connection.closed() => break,
                }
            }
        }
    }
    let Some(server) = server.upgrade() else { return connection.close().await };
    let ours =
        server.now().connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, &connection));
    if !ours {
        // The connection was closed on purpose or replaced.
        return connection.close().await;
    }
    connection.session_lost();
    let reason = connection.describe_end().await;
    tracing::warn!(server = &*server.name, reason, "the connection to a server was lost");
    server.change(|now| {
        now.state = Some(ServerState::Failed);
        now.failure = Some(ConnectFailure::lost(reason));
    });
    connection.close().await;
    if since.elapsed() >= SOUND {
        server.losses.store(0, Ordering::Relaxed);
    }
    let losses = server.losses.fetch_add(1, Ordering::Relaxed);
    if losses < server.config.retries && !server.sleep_unless_gone(backoff(losses)).await {
        server.connect().await;
    }
}
