//! One server over the whole of its life: connected, lost, connected again.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rmcp::model::RequestMetaObject;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::Instant;

use super::board::Board;
use super::link::{Link, LinkError};
use super::list::Listed;
use super::mount::{self, Mounted};
use super::status::{ServerState, ServerStatus};
use super::{answer, text};
use crate::call::{FailureKind, ToolResult};
use crate::context::ToolContext;
use crate::mcp::config::{Reach, ServerConfig, shown_url};
use crate::mcp::trace::TraceContext;

/// A list is read again at most this often.
const REFRESH: Duration = Duration::from_secs(1);
/// A connection that held this long counts as a sound one.
const SOUND: Duration = Duration::from_secs(30);
/// How long a failure answers further calls, before a call tries to connect again.
const FAILURE_HOLDS: Duration = Duration::from_millis(500);

pub(super) struct Server {
    pub(super) name: Arc<str>,
    pub(super) config: ServerConfig,
    pub(super) deferred: bool,
    pub(super) board: Arc<Board>,
    /// Held by whoever connects.
    connecting: tokio::sync::Mutex<()>,
    now: Mutex<Now>,
    /// Held by whoever changes what of this server is in the box.
    mounting: Mutex<()>,
    /// Whether a connection was tried at all.
    tried: watch::Sender<bool>,
    /// Connections in a row that did not hold.
    losses: AtomicU32,
}

/// What a tool of the box has to know to be called.
pub(super) struct Called {
    /// The server's own name of it.
    pub(super) name: Arc<str>,
    /// What its results are to look like.
    pub(super) output_schema: Option<Value>,
}

/// What is so at the moment.
#[derive(Default)]
struct Now {
    link: Option<Arc<Link>>,
    state: Option<ServerState>,
    error: Option<(String, Instant)>,
    wants_sign_in: bool,
    listed: Option<Arc<Listed>>,
    mounted: Mounted,
    notices: Vec<String>,
    /// Tools that gave a result which their output schema does not describe.
    misfits: HashSet<Arc<str>>,
}

impl Server {
    pub(super) fn new(
        name: Arc<str>,
        config: ServerConfig,
        deferred: bool,
        board: Arc<Board>,
    ) -> Arc<Self> {
        Arc::new(Self {
            name,
            config,
            deferred,
            board,
            connecting: tokio::sync::Mutex::default(),
            now: Mutex::default(),
            mounting: Mutex::default(),
            tried: watch::Sender::new(false),
            losses: AtomicU32::new(0),
        })
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the right to change what is in the box; `None` once everything is closed.
    fn mounting(&self) -> Option<MutexGuard<'_, ()>> {
        let guard = self.mounting.lock().unwrap_or_else(PoisonError::into_inner);
        (!self.board.closed.is_cancelled()).then_some(guard)
    }

    fn change(&self, change: impl FnOnce(&mut Now)) {
        change(&mut self.now());
        if let Some(listener) = &self.board.on_change {
            listener(&self.status());
        }
    }

    /// Tells who listens how it is.
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
        let state = if self.board.closed.is_cancelled() {
            ServerState::Closed
        } else {
            now.state.unwrap_or(idle)
        };
        let info = now.link.as_ref().and_then(|link| link.info());
        let shown = |text: &str| text::clean(text::cut(text, 4096)).into_owned();
        let own = info.as_ref().and_then(|info| info.server_info.as_ref());
        let mut notices = now.notices.clone();
        notices.extend(now.listed.iter().flat_map(|listed| listed.notices.iter().cloned()));
        notices.extend(now.mounted.notices.iter().cloned());
        if let Some(link) = &now.link {
            notices.extend(link.inbox.notices());
        }
        ServerStatus {
            name: self.name.to_string(),
            target: match &self.config.reach {
                Reach::Command { program, arguments, .. } => {
                    std::iter::once(program).chain(arguments).cloned().collect()
                }
                Reach::Url { url, .. } => vec![shown_url(url)],
            },
            state,
            protocol_version: info.as_ref().map(|info| shown(info.protocol_version.as_str())),
            server_name: own.map(|own| shown(&own.name)),
            server_version: own.map(|own| shown(&own.version)),
            instructions: info.as_ref().and_then(|info| info.instructions.as_deref()).map(shown),
            tools: now.mounted.tools.iter().map(|tool| tool.name().to_owned()).collect(),
            withheld: now.mounted.withheld.clone(),
            notices,
            error: now.error.as_ref().map(|(error, _)| error.clone()),
            wants_sign_in: now.wants_sign_in,
        }
    }

    /// Returns what is mounted: for notes about one server in the words of another.
    pub(super) fn mounted(&self) -> Vec<crate::tool::Tool> {
        self.now().mounted.tools.clone()
    }

    fn link(&self) -> Option<Arc<Link>> {
        self.now().link.clone().filter(|link| !link.is_closed())
    }

    /// Connects, trying again as often as the configuration says, and leaves it to `mount` to put the tools into the box.
    pub(super) async fn establish(self: &Arc<Self>) -> Option<(Arc<Link>, Listed)> {
        if !self.config.enabled || self.board.closed.is_cancelled() {
            return None;
        }
        let mut attempt = 0;
        loop {
            match self.attempt().await {
                Ok(established) => return Some(established),
                // Who asks does not change by asking again.
                Err(LinkError::Unauthorized(_)) => return None,
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

    /// Connects once and lists the tools, in the time the server has for both.
    async fn attempt(&self) -> Result<(Arc<Link>, Listed), LinkError> {
        self.change(|now| now.state = Some(ServerState::Connecting));
        let limit = self.config.connect_timeout;
        let connect = async {
            let link = Link::connect(&self.name, &self.config, &self.board.common).await?;
            let listed = link.list().await?;
            Ok::<_, LinkError>((Arc::new(link), listed))
        };
        let outcome = tokio::select! {
            biased;
            () = self.board.closed.cancelled() => {
                return Err(LinkError::Lost("the server was closed".to_owned()));
            }
            outcome = tokio::time::timeout(limit, connect) => outcome,
        };
        let error = match outcome {
            Ok(Ok(established)) => return Ok(established),
            Ok(Err(error)) => self.explained(error),
            Err(_) => LinkError::Lost(format!(
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

    /// Blames the token of the configuration where there is one: a sign-in would be of no use.
    fn explained(&self, error: LinkError) -> LinkError {
        match error {
            LinkError::Unauthorized(_) if self.config.has_own_token() => LinkError::Unauthorized(
                "it does not take the header `Authorization` of the configuration: mend that"
                    .to_owned(),
            ),
            error => error,
        }
    }

    fn wants_sign_in(&self, error: &LinkError) -> bool {
        matches!(error, LinkError::Unauthorized(_)) && !self.config.has_own_token()
    }

    /// Makes a fresh connection the server's own, whose tools are in the box by now: somebody looks after it.
    pub(super) fn settle(self: &Arc<Self>, link: Arc<Link>) {
        self.change(|now| {
            now.link = Some(Arc::clone(&link));
            now.state = Some(ServerState::Ready);
            now.error = None;
            now.wants_sign_in = false;
        });
        self.tried.send_replace(true);
        tokio::spawn(look_after(Arc::downgrade(self), Arc::clone(&self.board), link));
    }

    /// Puts the tools of a list into the box, in the place of those that were there.
    pub(super) async fn mount(self: &Arc<Self>, listed: Listed) {
        let server = Arc::clone(self);
        let mount = move || {
            let Some(_mounting) = server.mounting() else { return };
            let mounted = mount::mount(&server, &listed);
            server.now().listed = Some(Arc::new(listed));
            server.exchange(mounted);
        };
        if self.board.has_lock() {
            // Another program may have the file, and a disk takes its time.
            let _ = tokio::task::spawn_blocking(mount).await;
        } else {
            mount();
        }
    }

    /// Puts what is mounted now in the place of what was. `mounting` is held.
    fn exchange(&self, mounted: Mounted) {
        let before = std::mem::take(&mut self.now().mounted);
        self.board.put(&before.tools, &mounted.tools);
        self.now().mounted = mounted;
    }

    /// Looks at the last list again: something else is approved now.
    pub(super) fn remount(self: &Arc<Self>) {
        let Some(listed) = self.listed() else { return };
        {
            let Some(_mounting) = self.mounting() else { return };
            self.exchange(mount::mount(self, &listed));
        }
        self.announce();
    }

    pub(super) fn listed(&self) -> Option<Arc<Listed>> {
        self.now().listed.clone()
    }

    /// Connects unless it is connected, in a task of its own: nobody who stops waiting spoils it for the others.
    pub(super) async fn connect(self: &Arc<Self>) {
        let server = Arc::clone(self);
        let _ = tokio::spawn(async move {
            let _connecting = server.connecting.lock().await;
            if server.link().is_none()
                && let Some((link, listed)) = server.establish().await
            {
                server.mount(listed).await;
                server.settle(link);
            }
        })
        .await;
    }

    /// Drops the connection there is, and makes a new one.
    pub(super) async fn reconnect(self: &Arc<Self>) {
        let link = self.now().link.take();
        if let Some(link) = link {
            link.close().await;
        }
        self.losses.store(0, Ordering::Relaxed);
        self.connect().await;
    }

    /// Returns a connection for a call, made anew if there is none.
    async fn link_for_call(self: &Arc<Self>) -> Result<Arc<Link>, String> {
        if let Some(link) = self.link() {
            return Ok(link);
        }
        let server = Arc::clone(self);
        let connected = tokio::spawn(async move {
            let _connecting = server.connecting.lock().await;
            if let Some(link) = server.link() {
                return Some(link);
            }
            let failed = server.now().error.as_ref().map(|(_, at)| *at);
            if server.now().link.is_none() && failed.is_some_and(|at| at.elapsed() < FAILURE_HOLDS)
            {
                return None;
            }
            let (link, listed) = server.attempt().await.ok()?;
            server.mount(listed).await;
            server.settle(Arc::clone(&link));
            Some(link)
        });
        match connected.await {
            Ok(Some(link)) => Ok(link),
            _ => Err(self
                .now()
                .error
                .as_ref()
                .map_or_else(|| "the server was closed".to_owned(), |(error, _)| error.clone())),
        }
    }

    /// Makes one call of a tool.
    pub(super) async fn call(
        self: &Arc<Self>,
        tool: &Called,
        context: &ToolContext,
        arguments: &str,
    ) -> ToolResult {
        let shown = context.tool_name();
        let arguments: Map<String, Value> = match serde_json::from_str(arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                let message = format!("the arguments of `{shown}` are no JSON object: {error}");
                return ToolResult::failure(FailureKind::InvalidArguments, message);
            }
        };
        let link = match self.link_for_call().await {
            Ok(link) => link,
            Err(reason) => return self.lost(shown, &reason),
        };
        let answer = link.call(&tool.name, arguments, meta_of(context), context).await;
        match answer.map_err(|error| self.explained(error)) {
            Ok(raw) => {
                if self.now().wants_sign_in {
                    // Somebody signed in meanwhile.
                    self.change(|now| now.wants_sign_in = false);
                }
                let result = answer::result_of(shown, &raw);
                if let Some(fault) = answer::misfit(&result, tool.output_schema.as_ref()) {
                    link.inbox.note_misfit(shown, fault);
                    self.withdraw_output_schema(&tool.name).await;
                }
                result
            }
            Err(LinkError::Unread(reason)) => answer::unreadable(shown, &reason),
            Err(LinkError::Lost(reason)) => self.lost(shown, &reason),
            Err(error @ LinkError::Unauthorized(_)) => {
                self.change(|now| now.wants_sign_in = self.wants_sign_in(&error));
                self.lost(shown, &error.to_string())
            }
            Err(LinkError::Refused { code, message }) => ToolResult::error(format!(
                "server `{}` refused the call of `{shown}` (error {code}): {message}",
                self.name
            )),
        }
    }

    /// Returns whether a tool gave a result that its output schema does not describe.
    pub(super) fn distrusts_output_of(&self, tool: &str) -> bool {
        self.now().misfits.contains(tool)
    }

    /// Takes the output schema off a tool whose results do not fit it: whoever is served the tool again would be promised
    /// something else than what comes.
    async fn withdraw_output_schema(self: &Arc<Self>, tool: &Arc<str>) {
        if self.now().misfits.insert(Arc::clone(tool)) {
            let server = Arc::clone(self);
            // The lock file may be held by another program.
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

    /// Reads the list anew.
    async fn refresh(self: &Arc<Self>, link: &Link) {
        match tokio::time::timeout(self.config.connect_timeout, link.list()).await {
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

    /// Ends the connection, if there is one; nothing is left running.
    pub(super) async fn close(&self) {
        {
            // Whoever mounts meanwhile is waited for; whoever comes later finds everything closed.
            let _mounting = self.mounting.lock().unwrap_or_else(PoisonError::into_inner);
            self.exchange(Mounted::default());
        }
        let link = self.now().link.take();
        if let Some(link) = link {
            link.close().await;
        }
        self.tried.send_replace(true);
    }

    /// Waits, and returns whether everything was closed meanwhile.
    async fn sleep_unless_closed(&self, time: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(time) => false,
            () = self.board.closed.cancelled() => true,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let now = std::mem::take(&mut *self.now());
        self.board.clear(&now.mounted.tools);
    }
}

/// How long to wait after the failure of this number: a quarter of a second first, a minute at most.
fn backoff(attempt: u32) -> Duration {
    Duration::from_millis(250).saturating_mul(1 << attempt.min(10)).min(Duration::from_secs(60))
}

/// Returns what goes along with a call beside its arguments.
fn meta_of(context: &ToolContext) -> RequestMetaObject {
    let mut meta = RequestMetaObject::new();
    if let Some(trace) = context.get::<TraceContext>() {
        meta.set_traceparent(trace.traceparent.as_str());
        if let Some(state) = &trace.tracestate {
            meta.set_tracestate(state.as_str());
        }
        if let Some(baggage) = &trace.baggage {
            meta.set_baggage(baggage.as_str());
        }
    }
    if context.depth() > 0 {
        meta.insert("toolbox/depth".to_owned(), Value::from(context.depth()));
    }
    meta
}

/// Follows one connection: reads the list again when it changes, and sees to what comes after its end.
async fn look_after(server: Weak<Server>, board: Arc<Board>, link: Arc<Link>) {
    let since = Instant::now();
    let changes = link.hear_of_changes();
    let mut changes = std::pin::pin!(changes);
    loop {
        tokio::select! {
            () = board.closed.cancelled() => return link.close().await,
            () = link.closed() => break,
            () = &mut changes => {}
            () = link.inbox.changed() => {
                let Some(server) = server.upgrade() else { return link.close().await };
                server.refresh(&link).await;
                drop(server);
                // Changes in the meantime count as one.
                tokio::select! {
                    () = tokio::time::sleep(REFRESH) => {}
                    () = board.closed.cancelled() => return link.close().await,
                    () = link.closed() => break,
                }
            }
        }
    }
    let Some(server) = server.upgrade() else { return link.close().await };
    let ours = server.now().link.as_ref().is_some_and(|current| Arc::ptr_eq(current, &link));
    if !ours {
        // Somebody took the connection away on purpose, or has a new one.
        return link.close().await;
    }
    let reason = link.describe_end().await;
    tracing::warn!(server = &*server.name, reason, "the connection to a server was lost");
    server.change(|now| {
        now.state = Some(ServerState::Failed);
        now.error = Some((reason, Instant::now()));
    });
    link.close().await;
    if since.elapsed() >= SOUND {
        server.losses.store(0, Ordering::Relaxed);
    }
    let losses = server.losses.fetch_add(1, Ordering::Relaxed);
    if losses < server.config.retries && !server.sleep_unless_closed(backoff(losses)).await {
        server.connect().await;
    }
}
