//! The tools of servers in a box.

mod answer;
mod board;
mod envelope;
mod flags;
mod http;
mod inbox;
mod link;
mod list;
mod mount;
#[cfg(feature = "mcp-oauth")]
mod oauth;
mod reason;
mod server;
mod status;
mod stdio;
mod text;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[cfg(feature = "mcp-oauth")]
pub use oauth::{CredentialFile, CredentialFileError, SignIn, SignInError};
pub use status::{ServerState, ServerStatus, WithheldReason, WithheldTool};

use super::config::ServerConfig;
use super::count::Count;
use super::lock::{Lock, LockFileError};
use super::names::{InvalidServerNameError, Names};
use crate::collection::ToolBox;
use board::{Board, Listener};
use link::Common;
use server::Server;

/// How long children that are ending are waited for at most.
const CLOSING: Duration = Duration::from_secs(5);

/// When servers are connected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Connect {
    /// All at once, and [`mount`](ServersBuilder::mount) waits for each to succeed or fail. The tools are in the order of the
    /// servers.
    #[default]
    Now,
    /// All at once, while the program goes on. The tools are in the order in which the servers answered.
    InBackground,
    /// When [`Servers::ready`] is waited for the first time. Until then the box holds none of their tools.
    OnFirstUse,
}

/// The servers whose tools are in a box.
///
/// A cheap handle: clones share the servers. The tools stay in the box as long as one of the handles is there; when the last is
/// dropped, or with [`close`](Self::close), they leave, and every connection and child process ends. A program that crashes or
/// is killed takes its child processes along, if need be after 4 seconds.
///
/// Each tool is an ordinary one under the name `<server>_<tool>` (see [`Names`] for when it differs), with
/// [`Tool::source`](crate::Tool::source) and [`Tool::name_at_source`](crate::Tool::name_at_source) to tell where it is from.
/// Its calls pass the gate of the box like all others. What a server says of itself grants nothing: annotations are shown, and
/// no approval is spared for them. A conversation in which a tool answered is [tainted](crate::context::Taint), unless the program
/// [vouches](ServerConfig::trusted) for the server. A result that is not as the tool's output schema says is handed on as it is, and told of in
/// the server's [`notices`](ServerStatus::notices).
///
/// ```no_run
/// use toolbox::mcp::{ServerConfig, Servers};
/// use toolbox::{ToolBox, ToolCall};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
    shared: Arc<Shared>,
}

struct Shared {
    servers: Vec<Arc<Server>>,
    board: Arc<Board>,
}

impl Servers {
    /// Starts with no servers. Nothing is connected before [`mount`](ServersBuilder::mount).
    pub fn builder() -> ServersBuilder {
        ServersBuilder::default()
    }

    /// Waits until every server has been tried once, and starts those that nobody has used yet.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves the servers to go on connecting.
    pub async fn ready(&self) {
        self.start();
        for server in &self.shared.servers {
            server.tried().await;
        }
    }

    fn start(&self) {
        for server in &self.shared.servers {
            if server.status().state == ServerState::Waiting {
                let server = Arc::clone(server);
                tokio::spawn(async move { server.connect().await });
            }
        }
    }

    /// Returns what is known of every server, in the order they were given.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        let mut all: Vec<ServerStatus> =
            self.shared.servers.iter().map(|server| server.status()).collect();
        let tools: Vec<_> = self.shared.servers.iter().map(|server| server.mounted()).collect();
        let words = mount::by_word(tools.iter().flatten());
        for (status, tools) in all.iter_mut().zip(&tools) {
            status.notices.extend(mount::mentions(tools, &words));
        }
        all
    }

    /// Drops the connection to a server, if there is one, and makes a new one; returns whether there is a server of that name.
    ///
    /// How it went is in the [`status`](Self::status).
    pub async fn reconnect(&self, name: &str) -> bool {
        let server = self.shared.servers.iter().find(|server| *server.name == *name);
        if let Some(server) = server {
            server.reconnect().await;
        }
        server.is_some()
    }

    /// Approves of the tools of a server as they are now; returns whether there is a server of that name.
    ///
    /// Tools that were withheld because they changed, or were new, come into the box. Of no effect without a lock file.
    ///
    /// # Errors
    ///
    /// [`LockFileError`] if the file cannot be written; nothing is approved then.
    pub fn approve(&self, name: &str) -> Result<bool, LockFileError> {
        let server = self.shared.servers.iter().find(|server| *server.name == *name);
        server.map_or(Ok(false), |server| self.approve_server(server).map(|()| true))
    }

    /// Approves of all tools of all servers as they are now, like [`approve`](Self::approve).
    ///
    /// # Errors
    ///
    /// [`LockFileError`] if the file cannot be written.
    pub fn approve_all(&self) -> Result<(), LockFileError> {
        self.shared.servers.iter().try_for_each(|server| self.approve_server(server))
    }

    fn approve_server(&self, server: &Arc<Server>) -> Result<(), LockFileError> {
        let Some(listed) = server.listed() else { return Ok(()) };
        {
            let Some(mut lock) = self.shared.board.lock() else { return Ok(()) };
            let mut next = lock.clone();
            next.update(|lock| {
                for tool in &listed.tools {
                    lock.pin(&server.name, &tool.name, &tool.raw);
                }
            })?;
            *lock = next;
        }
        server.remount();
        Ok(())
    }

    /// Takes the tools out of the box and ends every connection and child process, with all that these started.
    ///
    /// A child is asked to end first; it is killed after 4 seconds.
    pub async fn close(&self) {
        self.shared.board.closed.cancel();
        let closing: Vec<_> = self
            .shared
            .servers
            .iter()
            .cloned()
            .map(|server| tokio::spawn(async move { server.close().await }))
            .collect();
        for server in closing {
            let _ = server.await;
        }
        // Those that never came to be servers end by themselves, as nobody waits for them any more.
        let children = self.shared.board.common.children.none();
        let _ = tokio::time::timeout(CLOSING, children).await;
        for server in &self.shared.servers {
            server.announce();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.board.closed.cancel();
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states = self.shared.servers.iter().map(|server| {
            let status = server.status();
            (status.name, status.state)
        });
        f.debug_map().entries(states).finish()
    }
}

/// Servers in the making: see [`Servers::builder`].
#[must_use = "nothing is connected before `.mount(&toolbox)`"]
pub struct ServersBuilder {
    servers: Vec<(String, ServerConfig)>,
    deferred: bool,
    lock_file: Option<PathBuf>,
    withhold_new: bool,
    max_message_bytes: usize,
    on_change: Option<Listener>,
    connect: Connect,
    #[cfg(feature = "mcp-oauth")]
    credentials: Option<CredentialFile>,
}

impl Default for ServersBuilder {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            deferred: false,
            lock_file: None,
            withhold_new: false,
            max_message_bytes: 16 * 1024 * 1024,
            on_change: None,
            connect: Connect::default(),
            #[cfg(feature = "mcp-oauth")]
            credentials: None,
        }
    }
}

impl ServersBuilder {
    /// Adds a server. Its name starts the names of its tools.
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

    /// Keeps the tools out of the list that is sent to a model, to be found by search. Default no; what a server's own
    /// configuration says wins.
    pub fn deferred(mut self, deferred: bool) -> Self {
        self.deferred = deferred;
        self
    }

    /// Keeps digests of the tools' definitions in a file, and withholds a tool that is another than it was.
    ///
    /// A tool is pinned as it is first seen. When its title, description, schemas or annotations differ later, it leaves the
    /// box until somebody approves ([`Servers::approve`]). Default: no file, and tools change as their servers like.
    ///
    /// Programs may share a file: each writes what it adds to what the others wrote. They take turns by an empty file beside it,
    /// `.NAME.guard`, which may be deleted when none of them runs.
    pub fn lock_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.lock_file = Some(path.into());
        self
    }

    /// Withholds tools that the lock file does not know, instead of approving of them on first sight. Default no.
    ///
    /// What is in the box was then approved by a person, so its definitions do not [taint](crate::context::Taint) a conversation that they
    /// are shown in, as those do that were pinned on first sight. Start with a file that was not written without this.
    pub fn withhold_new(mut self, withhold: bool) -> Self {
        self.withhold_new = withhold;
        self
    }

    /// Limits the bytes of one message of a server. Default 16 MiB.
    ///
    /// A longer one is skipped in little memory, and the call that it answers fails; the connection goes on. Over HTTP it is
    /// the body of an answer that counts, or one event of a stream, which ends there.
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// Has a function told whenever something about a server changes. It must not block.
    pub fn on_change(mut self, listener: impl Fn(&ServerStatus) + Send + Sync + 'static) -> Self {
        self.on_change = Some(Arc::new(listener));
        self
    }

    /// Sends servers at a URL the tokens that somebody got by a [`SignIn`], and renews them. Default none.
    ///
    /// A server with a header `Authorization` of its own gets that one. One that wants to know who asks, and where nobody signed
    /// in, is not reached: [`ServerStatus::wants_sign_in`].
    #[cfg(feature = "mcp-oauth")]
    pub fn credentials(mut self, credentials: CredentialFile) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Says when the servers are connected. Default [`Connect::Now`].
    pub fn connect_when(mut self, connect: Connect) -> Self {
        self.connect = connect;
        self
    }

    /// Connects the servers, all at once, and puts their tools into a box.
    ///
    /// A server that cannot be reached is no error: its [`status`](Servers::status) says why, and the others are there.
    ///
    /// # Errors
    ///
    /// [`MountServersError`] if the name of a server cannot be one, or the lock file cannot be used.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends what was started.
    pub async fn mount(self, toolbox: &ToolBox) -> Result<Servers, MountServersError> {
        let names = Names::new(self.servers.iter().map(|(name, _)| name.as_str()))
            .map_err(MountServersError::Name)?;
        let common = Common {
            message: self.max_message_bytes.max(1),
            http: http::Shared::default(),
            children: Count::default(),
            #[cfg(feature = "mcp-oauth")]
            credentials: self.credentials,
        };
        let mut board = Board::new(toolbox.clone(), names, common);
        if let Some(path) = &self.lock_file {
            board.lock = Some(Mutex::new(Lock::read(path).map_err(MountServersError::Lock)?));
        }
        board.withhold_new = self.withhold_new;
        board.on_change = self.on_change;
        let board = Arc::new(board);
        let server = |(name, config): (String, ServerConfig)| {
            let deferred = config.deferred.unwrap_or(self.deferred);
            Server::new(Arc::from(name), config, deferred, Arc::clone(&board))
        };
        let all: Vec<_> = self.servers.into_iter().map(server).collect();
        let servers = Servers { shared: Arc::new(Shared { servers: all, board }) };
        match self.connect {
            Connect::Now => connect_all(&servers.shared.servers).await,
            Connect::InBackground => servers.start(),
            Connect::OnFirstUse => {}
        }
        Ok(servers)
    }
}

/// Connects all servers at the same time, and mounts their tools in the order of the servers.
async fn connect_all(servers: &[Arc<Server>]) {
    let connecting: Vec<_> = servers
        .iter()
        .cloned()
        .map(|server| tokio::spawn(async move { server.establish().await }))
        .collect();
    for (server, connecting) in servers.iter().zip(connecting) {
        if let Ok(Some((link, listed))) = connecting.await {
            server.mount(listed).await;
            server.settle(link);
        }
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

/// Why servers cannot be mounted at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum MountServersError {
    /// The name of a server cannot be one.
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
