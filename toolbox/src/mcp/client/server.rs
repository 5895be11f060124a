//! One server over its lifetime: connected, lost, reconnected.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, MutexGuard, Weak};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::Instant;

use super::answer::ServerAnswer;
use super::connection::{Connection, ConnectionError};
use super::list::ToolList;
use super::mount::{self, Mounted};
use super::questions::{CallRounds, InputAnswers, InputRequired};
use super::shared_state::SharedState;
use super::status::{ServerState, ServerStatus};
use super::{answer, text};
use crate::call::{FailureKind, ToolResult};
use crate::context::ToolContext;
#[cfg(feature = "mcp-oauth")]
use crate::context::{Question, QuestionForm};
use crate::mcp::config::{ServerConfig, ServerEndpoint, public_url};
use crate::sync::Mutex;
use crate::text::cut;

/// The error code with which a server of an older version names pages that the user has to open.
const PAGES_REQUIRED: i32 = -32042;
/// The minimum interval between two readings of a list.
const REFRESH: Duration = Duration::from_secs(1);
/// The age from which a connection counts as stable.
const SOUND: Duration = Duration::from_secs(30);
/// The time for which a failure answers further calls, before a call tries to reconnect.
const FAILURE_HOLDS: Duration = Duration::from_millis(500);

pub(super) struct Server {
    pub(super) name: Arc<str>,
    pub(super) config: ServerConfig,
    pub(super) deferred: bool,
    pub(super) shared: Arc<SharedState>,
    /// Held while connecting.
    connecting: tokio::sync::Mutex<()>,
    now: Mutex<Now>,
    /// Held while changing this server's tools in the box.
    mounting: Mutex<()>,
    /// `true` once a connection was tried.
    tried: watch::Sender<bool>,
    /// The number of consecutive connections that did not become stable.
    losses: AtomicU32,
}

/// The data needed to call a mounted tool.
pub(super) struct CalledTool {
    /// The server's own name of the tool.
    pub(super) name: Arc<str>,
    /// The schema that its results should match.
    pub(super) output_schema: Option<Value>,
}

/// The current state of a server.
#[derive(Default)]
struct Now {
    connection: Option<Arc<Connection>>,
    state: Option<ServerState>,
    error: Option<(String, Instant)>,
    wants_sign_in: bool,
    listed: Option<Arc<ToolList>>,
    mounted: Mounted,
    notices: Vec<String>,
    /// The tools that returned a result which does not match their output schema.
    misfits: HashSet<Arc<str>>,
}

impl Server {
    pub(super) fn new(
        name: Arc<str>,
        config: ServerConfig,
        deferred: bool,
        shared: Arc<SharedState>,
    ) -> Arc<Self> {
        Arc::new(Self {
            name,
            config,
            deferred,
            shared,
            connecting: tokio::sync::Mutex::default(),
            now: Mutex::default(),
            mounting: Mutex::default(),
            tried: watch::Sender::new(false),
            losses: AtomicU32::new(0),
        })
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock()
    }

    /// Locks the right to change the box; `None` once everything is closed.
    fn mounting(&self) -> Option<MutexGuard<'_, ()>> {
        let guard = self.mounting.lock();
        (!self.shared.closed.is_cancelled()).then_some(guard)
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

    /// Waits until a connection was tried.
    pub(super) async fn tried(&self) {
        if self.config.enabled {
            let _ = self.tried.subscribe().wait_for(|tried| *tried).await;
        }
    }

    pub(super) fn status(&self) -> ServerStatus {
        let now = self.now();
        let idle = if self.config.enabled { ServerState::Waiting } else { ServerState::Disabled };
        let state = if self.shared.closed.is_cancelled() {
            ServerState::Closed
        } else {
            now.state.unwrap_or(idle)
        };
        let info = now.connection.as_ref().and_then(|connection| connection.info());
        let cleaned = |text: &str| text::clean(cut(text, 4096)).into_owned();
        let own = info.as_ref().and_then(|info| info.server_info.as_ref());
        let mut notices = now.notices.clone();
        notices.extend(now.listed.iter().flat_map(|listed| listed.notices.iter().cloned()));
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
            server_name: own.map(|own| cleaned(&own.name)),
            server_version: own.map(|own| cleaned(&own.version)),
            instructions: info.as_ref().and_then(|info| info.instructions.as_deref()).map(cleaned),
            tools: now.mounted.tools.iter().map(|tool| tool.name().to_owned()).collect(),
            withheld: now.mounted.withheld.clone(),
            notices,
            error: now.error.as_ref().map(|(error, _)| error.clone()),
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

    /// Connects, retrying as configured, and leaves it to `mount` to put the tools into the box.
    pub(super) async fn establish(self: &Arc<Self>) -> Option<(Arc<Connection>, ToolList)> {
        if !self.config.enabled || self.shared.closed.is_cancelled() {
            return None;
        }
        let mut attempt = 0;
        loop {
            match self.attempt().await {
                Ok(established) => return Some(established),
                // A retry sends the same credentials.
                Err(ConnectionError::Unauthorized { .. }) => return None,
                Err(_) if attempt == self.config.retries => return None,
                Err(_) => {
                    let stopped = self.sleep_unless_closed(backoff(attempt)).await;
                    if stopped {
                        return None;
                    }
                    attempt += 1;
                }
            }
        }
    }

    /// Connects once and lists the tools, within the connect timeout for both.
    async fn attempt(&self) -> Result<(Arc<Connection>, ToolList), ConnectionError> {
        self.change(|now| now.state = Some(ServerState::Connecting));
        let limit = self.config.connect_timeout;
        let connect = async {
            let connection =
                Connection::connect(&self.name, &self.config, &self.shared.common).await?;
            let listed = connection.list().await?;
            Ok::<_, ConnectionError>((Arc::new(connection), listed))
        };
        let outcome = tokio::select! {
            biased;
            () = self.shared.closed.cancelled() => {
                return Err(ConnectionError::Lost("the server was closed".to_owned()));
            }
            outcome = tokio::time::timeout(limit, connect) => outcome,
        };
        let error = match outcome {
            Ok(Ok(established)) => return Ok(established),
            Ok(Err(error)) => self.explained(error),
            Err(_) => ConnectionError::Lost(format!(
                "the server did not answer within {} seconds; a slow one may need a longer connect timeout",
                limit.as_secs_f32()
            )),
        };
        tracing::warn!(server = &*self.name, %error, "a server cannot be reached");
        self.change(|now| {
            now.state = Some(ServerState::Failed);
            now.error = Some((error.to_string(), Instant::now()));
            now.wants_sign_in = self.wants_sign_in(&error);
        });
        self.tried.send_replace(true);
        Err(error)
    }

    /// Blames the configured token if there is one: a sign-in would not help.
    fn explained(&self, error: ConnectionError) -> ConnectionError {
        match error {
            ConnectionError::Unauthorized { .. } if self.config.has_own_token() => {
                let reason =
                    "it does not take the header `Authorization` of the configuration: correct it";
                ConnectionError::Unauthorized { reason: reason.to_owned(), scopes: None }
            }
            error => error,
        }
    }

    fn wants_sign_in(&self, error: &ConnectionError) -> bool {
        matches!(error, ConnectionError::Unauthorized { .. }) && !self.config.has_own_token()
    }

    /// Adopts a new connection, whose tools are in the box already, and spawns the task that
    /// supervises it.
    pub(super) fn settle(self: &Arc<Self>, connection: Arc<Connection>) {
        self.change(|now| {
            now.connection = Some(Arc::clone(&connection));
            now.state = Some(ServerState::Ready);
            now.error = None;
            now.wants_sign_in = false;
        });
        self.tried.send_replace(true);
        tokio::spawn(supervise(Arc::downgrade(self), Arc::clone(&self.shared), connection));
    }

    /// Puts the tools of a list into the box, in place of the previous ones.
    pub(super) async fn mount(self: &Arc<Self>, listed: ToolList) {
        let server = Arc::clone(self);
        let mount = move || {
            let Some(_mounting) = server.mounting() else { return };
            let mounted = mount::mount(&server, &listed);
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
    fn exchange(&self, mounted: Mounted) {
        let before = std::mem::take(&mut self.now().mounted);
        self.shared.put(&before.tools, &mounted.tools);
        self.now().mounted = mounted;
    }

    /// Evaluates the last list again after an approval.
    pub(super) fn remount(self: &Arc<Self>) {
        let Some(listed) = self.listed() else { return };
        {
            let Some(_mounting) = self.mounting() else { return };
            self.exchange(mount::mount(self, &listed));
        }
        self.announce();
    }

    pub(super) fn listed(&self) -> Option<Arc<ToolList>> {
        self.now().listed.clone()
    }

    /// Connects unless connected, in a task of its own, so that a caller that stops waiting does
    /// not abort it for the others.
    pub(super) async fn connect(self: &Arc<Self>) {
        let server = Arc::clone(self);
        let _ = tokio::spawn(async move {
            let _connecting = server.connecting.lock().await;
            if server.connection().is_none()
                && let Some((connection, listed)) = server.establish().await
            {
                server.mount(listed).await;
                server.settle(connection);
            }
        })
        .await;
    }

    /// Closes the current connection and opens a new one.
    pub(super) async fn reconnect(self: &Arc<Self>) {
        let connection = self.now().connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
        self.losses.store(0, Ordering::Relaxed);
        self.connect().await;
    }

    /// Returns the connection for a call, and connects if there is none.
    async fn connection_for_call(self: &Arc<Self>) -> Result<Arc<Connection>, String> {
        if let Some(connection) = self.connection() {
            return Ok(connection);
        }
        let server = Arc::clone(self);
        let connected = tokio::spawn(async move {
            let _connecting = server.connecting.lock().await;
            if let Some(connection) = server.connection() {
                return Some(connection);
            }
            let failed = server.now().error.as_ref().map(|(_, at)| *at);
            if server.now().connection.is_none()
                && failed.is_some_and(|at| at.elapsed() < FAILURE_HOLDS)
            {
                return None;
            }
            let (connection, listed) = server.attempt().await.ok()?;
            server.mount(listed).await;
            server.settle(Arc::clone(&connection));
            Some(connection)
        });
        match connected.await {
            Ok(Some(connection)) => Ok(connection),
            _ => Err(self
                .now()
                .error
                .as_ref()
                .map_or_else(|| "the server was closed".to_owned(), |(error, _)| error.clone())),
        }
    }

    /// Calls one tool.
    pub(super) async fn call(
        self: &Arc<Self>,
        tool: &CalledTool,
        context: &ToolContext,
        text: &str,
    ) -> ToolResult {
        let tool_name = context.tool_name();
        let arguments: Map<String, Value> = match serde_json::from_str(text) {
            Ok(arguments) => arguments,
            Err(error) => {
                let message = format!("the arguments of `{tool_name}` are no JSON object: {error}");
                return ToolResult::failure(FailureKind::InvalidArguments, message);
            }
        };
        let connection = match self.connection_for_call().await {
            Ok(connection) => connection,
            Err(reason) => return self.lost(tool_name, &reason),
        };
        let answer = self.converse(&connection, tool, arguments, text, context).await;
        match answer.map_err(|error| self.explained(error)) {
            Ok(result) => {
                if self.now().wants_sign_in {
                    // A user has signed in meanwhile.
                    self.change(|now| now.wants_sign_in = false);
                }
                if let Some(fault) = answer::misfit(&result, tool.output_schema.as_ref()) {
                    connection.notifications.note_misfit(tool_name, fault);
                    self.withdraw_output_schema(&tool.name).await;
                }
                result
            }
            Err(ConnectionError::Unread(reason)) => answer::unreadable(tool_name, &reason),
            Err(ConnectionError::Lost(reason)) => self.lost(tool_name, &reason),
            Err(error @ ConnectionError::Unauthorized { .. }) => {
                self.change(|now| now.wants_sign_in = self.wants_sign_in(&error));
                self.lost(tool_name, &error.to_string())
            }
            Err(ConnectionError::Refused { code, message, .. }) => ToolResult::error(format!(
                "server `{}` refused the call of `{tool_name}` (error {code}): {message}",
                self.name
            )),
        }
    }

    /// Calls one tool, and answers what its server asks the user meanwhile.
    async fn converse(
        &self,
        connection: &Connection,
        tool: &CalledTool,
        mut arguments: Map<String, Value>,
        text: &str,
        context: &ToolContext,
    ) -> Result<ToolResult, ConnectionError> {
        let tool_name = context.tool_name();
        let (mut rounds, mut answers) = (CallRounds::default(), InputAnswers::default());
        loop {
            let called = connection.call(&tool.name, arguments, answers, context).await;
            let required = match called {
                Ok(raw) => match answer::read(tool_name, &raw) {
                    ServerAnswer::Result(result) => return Ok(result),
                    ServerAnswer::InputRequired(required) => required,
                },
                Err(ConnectionError::Refused {
                    code: PAGES_REQUIRED,
                    data: Some(data),
                    message,
                }) if context.can_ask() && rounds.is_first() => {
                    match InputRequired::of_pages(&data) {
                        Some(required) => required,
                        None => {
                            let data = Some(data);
                            let code = PAGES_REQUIRED;
                            return Err(ConnectionError::Refused { code, message, data });
                        }
                    }
                }
                #[cfg(feature = "mcp-oauth")]
                Err(ConnectionError::Unauthorized { scopes, .. })
                    if rounds.signs_in()
                        && Box::pin(self.sign_in(scopes.as_deref(), context)).await =>
                {
                    answers = InputAnswers::default();
                    arguments = serde_json::from_str(text).unwrap_or_default();
                    continue;
                }
                Err(error) => return Err(error),
            };
            answers = match rounds.answer(&self.name, &required, context).await {
                Some(answers) => answers,
                None => return Ok(answer::unanswered(tool_name, &required)),
            };
            // Few servers ask, so the arguments of most calls are read once.
            arguments = serde_json::from_str(text).unwrap_or_default();
        }
    }

    /// Asks the user of a call to sign in, where the program allows that. Returns `true` if it was
    /// done.
    #[cfg(feature = "mcp-oauth")]
    async fn sign_in(&self, scopes: Option<&str>, context: &ToolContext) -> bool {
        let Some(credentials) = self.shared.common.credentials_for_questions() else {
            return false;
        };
        if self.config.has_own_token() || !context.can_ask() {
            return false;
        }
        let scopes: Vec<&str> = scopes.unwrap_or_default().split_whitespace().take(64).collect();
        let message = match scopes.as_slice() {
            [] => "Sign in, so that the call can be made.".to_owned(),
            scopes => {
                let scopes = text::clean(cut(&scopes.join(", "), 512)).into_owned();
                format!("The call needs further permission: {scopes}.")
            }
        };
        let (found, page) = tokio::sync::oneshot::channel();
        let sign_in = super::oauth::SignIn::new(&self.config, credentials).scopes(scopes);
        let show = |page: &str| drop(found.send(page.to_owned()));
        let mut sign_in = std::pin::pin!(sign_in.run(show));
        let agreed = async {
            let Ok(page) = page.await else { return std::future::pending().await };
            let mut question = Question::new(message, QuestionForm::Url(page), context.clone());
            question.server = Some(self.name.to_string());
            context.put(question).await.is_ok()
        };
        let mut agreed = std::pin::pin!(agreed);
        let done = tokio::select! {
            done = &mut sign_in => done,
            agreed = &mut agreed => {
                if !agreed {
                    return false;
                }
                sign_in.await
            }
        };
        if let Err(error) = &done {
            tracing::warn!(server = &*self.name, %error, "a sign-in failed");
        }
        done.is_ok()
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

    fn note_stale(&self, reason: &str) {
        let notice = format!("its list of tools changed and cannot be read again: {reason}");
        self.change(|now| now.notices = vec![notice]);
    }

    /// Ends the connection, if any, and everything it runs.
    pub(super) async fn close(&self) {
        {
            // A mount in progress is waited for; a later one finds everything closed.
            let _mounting = self.mounting.lock();
            self.exchange(Mounted::default());
        }
        let connection = self.now().connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
        self.tried.send_replace(true);
    }

    /// Waits; returns `true` if everything was closed meanwhile.
    async fn sleep_unless_closed(&self, time: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(time) => false,
            () = self.shared.closed.cancelled() => true,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let now = std::mem::take(&mut *self.now());
        self.shared.clear(&now.mounted.tools);
    }
}

/// Returns the delay after a failed attempt: 250 ms at first, one minute at most.
fn backoff(attempt: u32) -> Duration {
    Duration::from_millis(250).saturating_mul(1 << attempt.min(10)).min(Duration::from_secs(60))
}

/// Supervises one connection: reads the list again when it changes, and reconnects when it ends.
async fn supervise(server: Weak<Server>, shared: Arc<SharedState>, connection: Arc<Connection>) {
    let since = Instant::now();
    let changes = connection.subscribe_to_changes();
    let mut changes = std::pin::pin!(changes);
    loop {
        tokio::select! {
            () = shared.closed.cancelled() => return connection.close().await,
            () = connection.closed() => break,
            () = &mut changes => {}
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
    let reason = connection.describe_end().await;
    tracing::warn!(server = &*server.name, reason, "the connection to a server was lost");
    server.change(|now| {
        now.state = Some(ServerState::Failed);
        now.error = Some((reason, Instant::now()));
    });
    connection.close().await;
    if since.elapsed() >= SOUND {
        server.losses.store(0, Ordering::Relaxed);
    }
    let losses = server.losses.fetch_add(1, Ordering::Relaxed);
    if losses < server.config.retries && !server.sleep_unless_closed(backoff(losses)).await {
        server.connect().await;
    }
}
