//! Mounts the tools of MCP servers into a box.

mod answer;
mod apply;
mod backoff;
mod connect;
mod connection;
mod connection_error;
mod envelope;
mod flags;
mod hidden;
mod http;
mod list;
mod mount;
mod mount_offers;
mod mount_skills;
mod mounted;
mod notifications;
#[cfg(feature = "mcp-oauth")]
mod oauth;
mod offers;
mod operation;
mod optional;
mod outward;
mod pages;
mod part;
mod questions;
mod reason;
mod request_meta;
mod requests;
mod server;
mod server_log;
mod server_request;
mod shared_state;
mod skills;
mod startup;
mod status;
mod stdio;
mod subscriptions;
mod text;
mod unread;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

pub use apply::ServerChanges;
pub use connect::Connect;
#[cfg(feature = "mcp-oauth")]
pub use oauth::{CredentialFile, CredentialFileError, SignIn, SignInError};
pub use status::{ServerStartup, ServerState, ServerStatus, WithheldReason, WithheldTool};

use super::config::ServerConfig;
use super::count::Count;
use super::frames::{Frame, FrameObserver};
use super::lock::{Lock, LockFileError};
use super::names::{InvalidServerNameError, Names};
use crate::collection::ToolBox;
use crate::mcp::telemetry::reporter_of;
use crate::sync::Mutex;
use connect::connect_all;
use connection::{ConnectionOptions, VersionPreference};
use server::Server;
#[cfg(feature = "cli")]
pub(crate) use server::sign_in_again;
#[cfg(feature = "page")]
pub(crate) use server_log::{ServerLine, ServerLog};
use shared_state::{Listener, SharedState};

/// The maximum time to wait for ending children.
const CLOSING: Duration = Duration::from_secs(5);

/// A handle to the servers whose tools are mounted in a box.
///
/// Cloning is cheap, and clones share the servers. The tools stay in the box as long as one handle
/// exists; when the last is dropped, or with [`close`](Self::close), they are removed, and every
/// connection and child process ends. The child processes of a program that crashes or is killed
/// end with it, after at most 4 seconds.
///
/// Each tool is an ordinary one under the name `<server>_<tool>` (see [`Names`] for exceptions),
/// with its origin in [`Tool::source`](crate::Tool::source) and
/// [`Tool::name_at_source`](crate::Tool::name_at_source). Its calls pass the gate of the box like
/// all others. A server's statements about itself grant nothing: annotations are displayed, and
/// never replace an approval. A conversation in which a tool answered is
/// [tainted](crate::context::Taint), unless the program [vouches](ServerConfig::trusted) for the
/// server. A result that does not match the tool's output schema is returned unchanged and reported
/// in the server's [`notices`](ServerStatus::notices).
///
/// ```no_run
/// use toolbox::mcp::{ServerConfig, Servers};
/// use toolbox::{ToolBox, ToolCall};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let toolbox = ToolBox::new();
/// let servers = Servers::builder()
///     .server("time", ServerConfig::command("uvx").arg("mcp-server-time"))
///     .mount(&toolbox)
///     .await?;
/// for status in servers.status() {
///     println!("{}: {:?}, {} tools", status.name, status.state, status.tools.len());
/// }
/// let call = ToolCall::new("1", "time_get_current_time", r#"{"timezone": "Asia/Tokyo"}"#);
/// println!("{}", toolbox.call(call).await.text());
/// servers.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "the tools leave the box when the last handle is dropped"]
pub struct Servers {
    shared: Arc<ServersInner>,
}

struct ServersInner {
    servers: Mutex<Vec<Arc<Server>>>,
    shared: Arc<SharedState>,
    /// `true` if tools are deferred where the configuration of a server does not say.
    deferred: bool,
    connect: Connect,
    /// `true` once the servers were connected, or began to be.
    started: AtomicBool,
    /// Held while the servers are replaced.
    applying: Mutex<()>,
}

impl ServersInner {
    fn servers(&self) -> Vec<Arc<Server>> {
        self.servers.lock().clone()
    }

    /// Makes a server, which is not connected.
    fn server(&self, name: String, config: ServerConfig) -> Arc<Server> {
        let deferred = config.deferred.unwrap_or(self.deferred);
        Server::new(Arc::from(name), config, deferred, Arc::clone(&self.shared))
    }

    fn named(&self, name: &str) -> Option<Arc<Server>> {
        self.servers().into_iter().find(|server| *server.name == *name)
    }
}

impl Servers {
    /// Returns a builder with no servers. Nothing is connected before
    /// [`mount`](ServersBuilder::mount).
    pub fn builder() -> ServersBuilder {
        ServersBuilder::default()
    }

    /// Waits until a connection to every server has been tried, and starts those not used yet.
    ///
    /// A server that is slow to start takes up to its [connect
    /// timeout](ServerConfig::connect_timeout); [`status`](Self::status) says meanwhile what is
    /// waited for.
    ///
    /// # Cancellation
    ///
    /// Dropping the future does not stop the servers from connecting.
    pub async fn ready(&self) {
        self.start();
        for server in self.shared.servers() {
            server.tried().await;
        }
    }

    /// Waits like [`ready`](Self::ready), for no server longer than `patience` after its start, and
    /// no longer than until one has answered and `is_enough` is true.
    #[cfg(feature = "cli")]
    pub(crate) async fn ready_within(&self, patience: Duration, is_enough: impl Fn() -> bool) {
        use futures_util::StreamExt as _;

        self.start();
        let servers = self.shared.servers();
        let tried = servers.iter().map(|server| server.tried_within(patience));
        let mut tried: futures_util::stream::FuturesUnordered<_> = tried.collect();
        while !is_enough() && tried.next().await.is_some() {}
    }

    /// Connects to each server in the background that failed a while ago: 30 seconds, and after
    /// starts that took too long twice as long each time, up to 10 minutes.
    #[cfg(feature = "cli")]
    pub(crate) fn retry_failed(&self) {
        for server in self.shared.servers() {
            server.retry();
        }
    }

    fn start(&self) {
        self.shared.started.store(true, Ordering::Relaxed);
        for server in self.shared.servers() {
            if server.status().state == ServerState::Waiting {
                tokio::spawn(async move { server.connect().await });
            }
        }
    }

    /// Returns the status of every server, in the order they were added.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        let servers = self.shared.servers();
        let mut all: Vec<ServerStatus> = servers.iter().map(|server| server.status()).collect();
        let tools: Vec<_> = servers.iter().map(|server| server.mounted()).collect();
        let words = mount::by_word(tools.iter().flatten());
        for (status, tools) in all.iter_mut().zip(&tools) {
            status.notices.extend(mount::mentions(tools, &words));
        }
        all
    }

    /// Returns what a server prints and logs.
    #[cfg(feature = "page")]
    pub(crate) fn log(&self, name: &str) -> Option<Arc<ServerLog>> {
        self.shared.named(name).map(|server| Arc::clone(&server.log))
    }

    /// Closes the connection to a server, if any, and opens a new one; returns `false` if there is
    /// no server of that name.
    ///
    /// The outcome is in the [`status`](Self::status).
    pub async fn reconnect(&self, name: &str) -> bool {
        let server = self.shared.named(name);
        if let Some(server) = &server {
            server.reconnect().await;
        }
        server.is_some()
    }

    /// Approves the definitions of a server that were shown, by the [digest](ServerStatus::digest)
    /// of the status that showed them. If the server lists others by now, nothing is approved.
    ///
    /// Tools that were withheld because they changed or were new are added to the box. Has no
    /// effect without a lock file.
    ///
    /// # Errors
    ///
    /// [`ApproveError`]; nothing is approved then.
    pub fn approve(&self, name: &str, digest: &str) -> Result<(), ApproveError> {
        self.approve_shown(vec![(name, digest)])
    }

    /// Approves the definitions of all servers that were shown by their statuses, like
    /// [`approve`](Self::approve). A server without a digest is left out.
    ///
    /// # Errors
    ///
    /// [`ApproveError`]; nothing is approved then.
    pub fn approve_all(&self, shown: &[ServerStatus]) -> Result<(), ApproveError> {
        let with_digest = |status: &'_ ServerStatus| status.digest.is_some();
        let shown = shown.iter().filter(|status| with_digest(status));
        let pairs = shown.map(|one| (&*one.name, one.digest.as_deref().unwrap_or_default()));
        self.approve_shown(pairs.collect())
    }

    fn approve_shown(&self, shown: Vec<(&str, &str)>) -> Result<(), ApproveError> {
        let mut approved = Vec::with_capacity(shown.len());
        for (name, digest) in shown {
            let server = self.shared.named(name);
            let server = server.ok_or_else(|| ApproveError::NoServer(name.to_owned()))?;
            let listed = server.listed().filter(|listed| listed.digest() == digest);
            let listed = listed.ok_or_else(|| ApproveError::Changed(name.to_owned()))?;
            approved.push((server, listed));
        }
        {
            let Some(mut lock) = self.shared.shared.lock() else { return Ok(()) };
            let mut next = lock.clone();
            next.update(|lock| {
                for (server, listed) in &approved {
                    for (key, raw) in listed.pins() {
                        lock.pin(&server.name, &key, raw);
                    }
                }
            })?;
            *lock = next;
        }
        for (server, _) in approved {
            server.remount();
        }
        Ok(())
    }

    /// Removes the tools from the box and ends every connection and child process, with everything
    /// these started.
    ///
    /// A child is asked to end first, and killed after 4 seconds.
    pub async fn close(&self) {
        self.shared.shared.closed.cancel();
        let servers = self.shared.servers();
        let closing: Vec<_> = servers
            .iter()
            .cloned()
            .map(|server| tokio::spawn(async move { server.close().await }))
            .collect();
        for server in closing {
            let _ = server.await;
        }
        // Children that never became servers, and those of removed servers, end by themselves.
        let children = self.shared.shared.common.children.none();
        let _ = tokio::time::timeout(CLOSING, children).await;
        for server in &servers {
            server.announce();
        }
    }
}

impl Drop for ServersInner {
    fn drop(&mut self) {
        self.shared.closed.cancel();
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers = self.shared.servers();
        let states = servers.iter().map(|server| {
            let status = server.status();
            (status.name, status.state)
        });
        f.debug_map().entries(states).finish()
    }
}

/// A builder of [`Servers`]: see [`Servers::builder`].
#[must_use = "nothing is connected before `.mount(&toolbox)`"]
#[allow(clippy::struct_excessive_bools, reason = "each is an option with a method of its own")]
pub struct ServersBuilder {
    servers: Vec<(String, ServerConfig)>,
    deferred: bool,
    lock_file: Option<PathBuf>,
    withhold_new: bool,
    bare_names: bool,
    max_message_bytes: usize,
    relays_questions: bool,
    relays_apps: bool,
    preference: VersionPreference,
    on_change: Option<Listener>,
    connect: Connect,
    frames: Option<FrameObserver>,
    #[cfg(feature = "mcp-oauth")]
    credentials: Option<CredentialFile>,
    #[cfg(feature = "mcp-oauth")]
    asks_to_sign_in: bool,
}

impl Default for ServersBuilder {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            deferred: false,
            lock_file: None,
            withhold_new: false,
            bare_names: false,
            max_message_bytes: 16 * 1024 * 1024,
            relays_questions: false,
            relays_apps: false,
            preference: VersionPreference::Newest,
            on_change: None,
            connect: Connect::default(),
            frames: None,
            #[cfg(feature = "mcp-oauth")]
            credentials: None,
            #[cfg(feature = "mcp-oauth")]
            asks_to_sign_in: false,
        }
    }
}

impl ServersBuilder {
    /// Adds a server. Its name is the prefix of its tools' names.
    pub fn server(mut self, name: impl Into<String>, config: ServerConfig) -> Self {
        self.servers.push((name.into(), config));
        self
    }

    /// Adds servers.
    pub fn servers<N: Into<String>>(
        self,
        servers: impl IntoIterator<Item = (N, ServerConfig)>,
    ) -> Self {
        servers.into_iter().fold(self, |builder, (name, config)| builder.server(name, config))
    }

    /// Sets whether tools are left out of the list sent to a model, to be found by search. Default
    /// `false`; a server's own configuration takes precedence.
    pub fn deferred(mut self, deferred: bool) -> Self {
        self.deferred = deferred;
        self
    }

    /// Keeps tool definitions in a file with their digests, and withholds a tool whose definition
    /// changed.
    ///
    /// A tool is pinned when it is first listed. When its title, description, schemas or
    /// annotations change later, it is removed from the box until it is approved
    /// ([`Servers::approve`]); the [detail](WithheldTool::detail) says whether the change breaks
    /// those who call it, as [`contract`](crate::contract) does. Default: no file, and definitions
    /// may change at any time.
    ///
    /// Programs may share a file: each adds its entries to those of the others. An empty lock file
    /// beside it, `.NAME.guard`, orders their writes and may be deleted when none of them runs.
    pub fn lock_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.lock_file = Some(path.into());
        self
    }

    /// Withholds tools that the lock file does not know, instead of approving them when first
    /// listed. Default `false`.
    ///
    /// All definitions in the box were then approved by a person, so they do not
    /// [taint](crate::context::Taint) a conversation, as definitions pinned when first listed do.
    /// Start with a file that was not written without this option.
    pub fn withhold_new(mut self, withhold: bool) -> Self {
        self.withhold_new = withhold;
        self
    }

    /// Keeps the names of tools and prompts as their server has them, for a box of one server.
    pub(crate) fn bare_names(mut self) -> Self {
        self.bare_names = true;
        self
    }

    /// Limits the size of one message of a server, in bytes. Default 16 MiB.
    ///
    /// A longer message is skipped in little memory, and the call that it answers fails; the
    /// connection goes on. Over HTTP the limit applies to the body of a response or one event of a
    /// stream, and the stream ends there.
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// Sets whether servers of versions before 2026-07-28 are told that their questions to the user
    /// are answered, also if the box has no [asker](crate::ToolBoxBuilder::asker). Default `false`.
    ///
    /// The question of a server goes to the asker of the call that it belongs to
    /// ([`ToolContext::with_asker`](crate::ToolContext::with_asker)), which for a call over MCP is
    /// the user of the client, else to that of the box. Older servers are told at the start what
    /// holds for all calls, so set this where the calls bring askers; a call that brings none
    /// dismisses the question. A newer server is told with each call.
    pub fn relay_questions(mut self, relay: bool) -> Self {
        self.relays_questions = relay;
        self
    }

    /// Sets whether a server that speaks versions of the protocol both before 2026-07-28 and from
    /// it on is spoken to in one before, which begins with a handshake. Default `false`: in the
    /// newest.
    ///
    /// Some servers offer less in one of the two, such as questions to the user in the older alone.
    /// Set this where the results go to a client of an older version. A server with a
    /// [version of its own](ServerConfig::protocol) is spoken to in that.
    pub fn prefer_handshake(mut self, prefer: bool) -> Self {
        self.preference =
            if prefer { VersionPreference::Handshake } else { VersionPreference::Newest };
        self
    }

    /// Sets whether servers are told that the pages of MCP Apps are displayed
    /// (`io.modelcontextprotocol/ui`). Default `false`.
    ///
    /// Servers are told at the start, before there is a call, so set this where the program
    /// displays pages itself or serves clients that may. A call of an MCP client tells a server of
    /// 2026-07-28 or later what that client declares.
    pub fn relay_apps(mut self, relay: bool) -> Self {
        self.relays_apps = relay;
        self
    }

    /// Calls a function whenever the status of a server changes. It must not block.
    ///
    /// While a server is slow to start, it is called after 2 seconds, 4, 8 and so on, and with each
    /// new [line](super::ServerStartup::last_line) that the server prints, once a second at most.
    pub fn on_change(mut self, listener: impl Fn(&ServerStatus) + Send + Sync + 'static) -> Self {
        self.on_change = Some(Arc::new(listener));
        self
    }

    /// Calls a function with each message that is sent to a server or received from one, as it is
    /// on the wire. It must not block: the connection waits for it. If it panics, that is logged.
    /// Default none, which costs nothing.
    ///
    /// A [`FrameLog`](super::FrameLog) keeps them. Headers are no part of a frame, and so no
    /// credentials; the arguments of calls are.
    pub fn on_frame(mut self, observe: impl Fn(&Frame<'_>) + Send + Sync + 'static) -> Self {
        self.frames = Some(FrameObserver::new(observe));
        self
    }

    /// Sends the tokens of a [`SignIn`] to servers with a URL, and renews them. Default none.
    ///
    /// A server with a configured `Authorization` header gets that one. A server that requires
    /// authorization and was not signed in to is not connected: [`ServerStatus::wants_sign_in`].
    #[cfg(feature = "mcp-oauth")]
    pub fn credentials(mut self, credentials: CredentialFile) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Sets whether the user of a call is asked to sign in where a server requires that, or further
    /// scopes, in the middle of the call, which is then made again. Default `false`.
    ///
    /// The question holds the page to open, whose browser has to run on this machine. It goes to
    /// the
    /// [asker](crate::ToolContext::ask) of the call; its answer counts for all calls of the
    /// [credentials](Self::credentials), so set this for a program of one user.
    #[cfg(feature = "mcp-oauth")]
    pub fn ask_to_sign_in(mut self, ask: bool) -> Self {
        self.asks_to_sign_in = ask;
        self
    }

    /// Sets the moment at which the servers are connected. Default [`Connect::Now`].
    pub fn connect_when(mut self, connect: Connect) -> Self {
        self.connect = connect;
        self
    }

    /// Connects the servers, all at once, and adds their tools to a box.
    ///
    /// A server that cannot be reached is no error: its [`status`](Servers::status) holds the
    /// reason, and the other servers are mounted.
    ///
    /// # Errors
    ///
    /// [`MountServersError`] if a server's name is invalid or the lock file cannot be used.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends all connections made so far.
    pub async fn mount(self, toolbox: &ToolBox) -> Result<Servers, MountServersError> {
        let names = Names::new(self.servers.iter().map(|(name, _)| name.as_str()))
            .map_err(MountServersError::Name)?;
        let names = if self.bare_names { names.bare() } else { names };
        let common = ConnectionOptions {
            message: self.max_message_bytes.max(1),
            reporter: reporter_of(toolbox),
            http: http::SharedClient::default(),
            children: Count::default(),
            answers_questions: self.relays_questions || toolbox.can_ask(),
            displays_apps: self.relays_apps,
            preference: self.preference,
            frames: self.frames,
            #[cfg(feature = "mcp-oauth")]
            credentials: self.credentials,
            #[cfg(feature = "mcp-oauth")]
            asks_to_sign_in: self.asks_to_sign_in,
        };
        // Clients are told at once that there may be some.
        toolbox.prompts().announce();
        toolbox.resources().announce_skills();
        let mut shared = SharedState::new(toolbox.clone(), names, common);
        if let Some(path) = &self.lock_file {
            shared.lock = Some(Mutex::new(Lock::read(path).map_err(MountServersError::Lock)?));
        }
        shared.withhold_new = self.withhold_new;
        shared.on_change = self.on_change;
        let shared = Arc::new(shared);
        let inner = ServersInner {
            servers: Mutex::default(),
            shared,
            deferred: self.deferred,
            connect: self.connect,
            started: AtomicBool::new(false),
            applying: Mutex::default(),
        };
        let servers = self.servers.into_iter().map(|(name, config)| inner.server(name, config));
        *inner.servers.lock() = servers.collect();
        let servers = Servers { shared: Arc::new(inner) };
        match self.connect {
            Connect::Now => connect_all(&servers.shared.servers(), None).await,
            Connect::Within(patience) => {
                let until = Instant::now().checked_add(patience);
                connect_all(&servers.shared.servers(), until).await;
            }
            Connect::InBackground => servers.start(),
            Connect::OnFirstUse => {}
        }
        Ok(servers)
    }
}

impl fmt::Debug for ServersBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServersBuilder")
            .field("servers", &self.servers)
            .field("connect", &self.connect)
            .finish_non_exhaustive()
    }
}

/// An error for which nothing is approved.
#[derive(Debug)]
#[non_exhaustive]
pub enum ApproveError {
    /// There is no server of this name.
    NoServer(String),
    /// The server of this name lists other definitions than those that were shown.
    Changed(String),
    /// The lock file cannot be used.
    Lock(LockFileError),
}

impl fmt::Display for ApproveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoServer(name) => write!(f, "there is no server `{name}`"),
            Self::Changed(name) => write!(
                f,
                "the server `{name}` lists other definitions by now than those that were shown: look at them again"
            ),
            Self::Lock(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ApproveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Lock(error) => Some(error),
            _ => None,
        }
    }
}

impl From<LockFileError> for ApproveError {
    fn from(error: LockFileError) -> Self {
        Self::Lock(error)
    }
}

/// An error that prevents mounting servers.
#[derive(Debug)]
#[non_exhaustive]
pub enum MountServersError {
    /// The name of a server is invalid.
    Name(InvalidServerNameError),
    /// The lock file cannot be used.
    Lock(LockFileError),
}

impl fmt::Display for MountServersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(f),
            Self::Lock(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MountServersError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Name(_) => None,
            Self::Lock(error) => std::error::Error::source(error),
        }
    }
}
