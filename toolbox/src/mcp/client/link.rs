//! One connection to a server: how it comes about, and what is asked over it.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientConfig, ClientRequest, CustomResult, ErrorCode,
    ErrorData, Implementation, ListToolsRequest, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion, RequestMetaObject, ServerPeerInfo, ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, Peer, PeerRequestOptions,
    RequestContext, RequestHandle, RunningService, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientServiceExt, RoleClient};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::envelope::UNREAD;
use super::inbox::Inbox;
use super::list::{Listed, MAX_PAGES, MAX_TOOLS};
use super::stdio::{Child, Stdio};
use super::{http, reason, text};
use crate::context::ToolContext;
use crate::mcp::config::{Reach, ServerConfig};
use crate::mcp::count::Count;

/// What holds for the connections to all servers of a box.
#[derive(Debug)]
pub(super) struct Common {
    /// Bytes of one message.
    pub(super) message: usize,
    /// What the servers with a URL are reached by.
    pub(super) http: http::Shared,
    /// The child processes, until everything they started has ended.
    pub(super) children: Count,
    /// The tokens of servers where somebody signed in.
    #[cfg(feature = "mcp-oauth")]
    pub(super) credentials: Option<super::oauth::CredentialFile>,
}

/// A server that has shaken hands.
pub(super) struct Link {
    running: RunningService<RoleClient, Ears>,
    child: Option<Child>,
    pub(super) inbox: Arc<Inbox>,
}

/// What of rmcp's callbacks is listened to. What servers may ask of a client is refused, for the most part by rmcp's defaults.
struct Ears {
    inbox: Arc<Inbox>,
}

impl ClientHandler for Ears {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("toolbox", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(rmcp::model::ClientCapabilities::default(), own)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    #[expect(deprecated, reason = "older servers ask for roots, and newer ones may still")]
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "there are no roots", None))
    }

    async fn on_progress(
        &self,
        report: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.inbox.report(report);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.inbox.list_changed();
    }
}

/// Why a server could not be asked, in words to put after its name.
#[derive(Debug)]
pub(super) enum LinkError {
    /// It answered with an error of the protocol.
    Refused { code: i32, message: String },
    /// It answered, and the answer cannot be used.
    Unread(String),
    /// It wants to know who asks, and does not take what it was told, if it was told anything.
    Unauthorized(String),
    /// The connection is gone, or never was.
    Lost(String),
}

impl std::fmt::Display for LinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused { code, message } => write!(f, "answered with error {code}: {message}"),
            Self::Unread(reason) | Self::Unauthorized(reason) | Self::Lost(reason) => {
                f.write_str(reason)
            }
        }
    }
}

/// The first page of a list, or a later one, tool by tool.
#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(rename = "nextCursor", default)]
    next: Option<String>,
}

impl Link {
    /// Connects and shakes hands, within the server's time for that.
    pub(super) async fn connect(
        server: &Arc<str>,
        config: &ServerConfig,
        common: &Common,
    ) -> Result<Self, LinkError> {
        let auto = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        };
        match Self::shake_hands(server, config, common, auto).await {
            // Some older servers end when the first message is not the one they know.
            Err((LinkError::Lost(_), true)) => {
                let older = ClientLifecycleMode::Initialize;
                Self::shake_hands(server, config, common, older).await
            }
            // One that was so slow to start that it was taken for an older one.
            Err((LinkError::Refused { code: NO_HANDSHAKE, .. }, _)) => {
                let newer = ClientLifecycleMode::Discover {
                    preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                };
                Self::shake_hands(server, config, common, newer).await
            }
            other => other,
        }
        .map_err(|(error, _)| error)
    }

    /// Connects in one way; the flag of an error says that the connection ended during the first exchange.
    async fn shake_hands(
        server: &Arc<str>,
        config: &ServerConfig,
        common: &Common,
        mode: ClientLifecycleMode,
    ) -> Result<Self, (LinkError, bool)> {
        let inbox = Inbox::new(Arc::clone(server));
        let ears = Ears { inbox: Arc::clone(&inbox) };
        let (child, running) = match &config.reach {
            Reach::Command { program, directory, .. } => {
                let (child, stdin, stdout) = Child::spawn(&config.reach, &common.children)
                    .map_err(|error| {
                        let reason = describe_spawn(program, directory.as_deref(), &error);
                        (LinkError::Lost(reason), false)
                    })?;
                // Servers that are slow to start are many, and those that answer nothing unknown are few.
                let patience = config.connect_timeout.mul_f32(0.8);
                let inbox = Arc::clone(&inbox);
                let streams = Stdio::new(stdin, stdout, common.message, patience, inbox);
                (Some(child), ears.serve_with_lifecycle(streams, mode).await)
            }
            Reach::Url { url, headers } => {
                let lost = |reason| (LinkError::Lost(reason), false);
                let to = http::address(url, headers).map_err(lost)?;
                let client = common.http.client().map_err(lost)?;
                let wire = http::Wire::new(client, common.message, Arc::clone(&inbox));
                #[cfg(feature = "mcp-oauth")]
                let wire = wire.with_tokens(granted(url, config, common));
                let transport = StreamableHttpClientTransport::with_client(wire, to);
                (None, ears.serve_with_lifecycle(transport, mode).await)
            }
        };
        match running {
            Ok(running) => Ok(Self { running, child, inbox }),
            Err(ClientInitializeError::JsonRpcError(error)) => Err((refused(&error), false)),
            Err(error) if reason::is_unauthorized(&error) => {
                Err((LinkError::Unauthorized(reason::of_handshake(&error)), false))
            }
            Err(error) => {
                let ended = matches!(
                    error,
                    ClientInitializeError::ConnectionClosed(_)
                        | ClientInitializeError::TransportError { .. }
                );
                let lost = match child {
                    Some(child) if ended => {
                        // How it ended is known a moment after its output did.
                        let _ = tokio::time::timeout(LAST_WORDS, child.gone()).await;
                        (format!("the server {}", child.describe_end()), true)
                    }
                    _ => (reason::of_handshake(&error), false),
                };
                Err((LinkError::Lost(lost.0), lost.1))
            }
        }
    }

    pub(super) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.running.peer_info()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.inbox.is_ended() || self.running.is_closed() || self.running.is_transport_closed()
    }

    /// Waits until the server is gone.
    pub(super) async fn closed(&self) {
        let child_gone = async {
            match &self.child {
                Some(child) => child.gone().await,
                None => std::future::pending().await,
            }
        };
        let transport_closed = async {
            // rmcp tells nobody that its transport closed, but answers when asked.
            let mut look = tokio::time::interval(Duration::from_millis(500));
            while !self.running.is_transport_closed() {
                look.tick().await;
            }
        };
        tokio::select! {
            () = self.inbox.until_ended() => {}
            () = child_gone => {}
            () = transport_closed => {}
        }
    }

    /// Says why the connection is gone.
    pub(super) async fn describe_end(&self) -> String {
        match &self.child {
            Some(child) => {
                let _ = tokio::time::timeout(LAST_WORDS, child.gone()).await;
                format!("the server {}", child.describe_end())
            }
            None => "the connection was closed".to_owned(),
        }
    }

    /// Ends the connection, and the child with everything it started.
    pub(super) async fn close(&self) {
        self.running.cancellation_token().cancel();
        self.inbox.ended();
        if let Some(child) = &self.child {
            child.close().await;
        }
    }

    /// Asks for the whole list of tools.
    pub(super) async fn list(&self) -> Result<Listed, LinkError> {
        let mut listed = Listed::default();
        let mut cursor = None;
        let mut seen = HashSet::new();
        for page in 1.. {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ListToolsRequest::with_param(params);
            let handle = self
                .send(ClientRequest::ListToolsRequest(request), PeerRequestOptions::default())
                .await?;
            let answer = self.answer(handle).await?;
            let page_of_tools: Page<'_> = serde_json::from_str(&answer.raw).map_err(|error| {
                LinkError::Lost(format!("its list of tools cannot be read: {error}"))
            })?;
            for tool in page_of_tools.tools {
                listed.add(tool.get(), &answer.refused);
            }
            let Some(next) = page_of_tools.next else { break };
            if !seen.insert(next.clone()) {
                listed.notice("its list of tools repeats a page; the rest was not read".to_owned());
                break;
            }
            if page == MAX_PAGES || listed.len() >= MAX_TOOLS {
                listed.notice(format!(
                    "its list of tools goes on after {page} pages; the rest was not read"
                ));
                break;
            }
            cursor = Some(next);
        }
        Ok(listed)
    }

    /// Calls a tool by the server's own name, and returns the text of the result.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        meta: RequestMetaObject,
        context: &ToolContext,
    ) -> Result<String, LinkError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let mut options = PeerRequestOptions::no_options();
        options.meta = Some(meta);
        let handle = self.send(request, options).await?;
        let _listening = self.inbox.listen(handle.progress_token.clone(), context);
        Ok(self.answer(handle).await?.raw)
    }

    async fn send(
        &self,
        request: ClientRequest,
        options: PeerRequestOptions,
    ) -> Result<RequestHandle<RoleClient>, LinkError> {
        match self.running.send_request_with_option(request, options).await {
            Ok(handle) => Ok(handle),
            Err(error) => Err(self.explain(error).await),
        }
    }

    /// Waits for an answer. Whoever stops waiting tells the server so.
    async fn answer(&self, handle: RequestHandle<RoleClient>) -> Result<http::Page, LinkError> {
        let mut pending = Pending(Some(handle));
        let Some(handle) = &mut pending.0 else { return Err(LinkError::Lost(String::new())) };
        let answer = tokio::select! {
            biased;
            answer = &mut handle.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
            () = self.inbox.until_ended() => {
                // What came before the end may still be on its way through the service.
                match tokio::time::timeout(Duration::from_millis(20), &mut handle.rx).await {
                    Ok(Ok(answer)) => answer,
                    _ => Err(ServiceError::TransportClosed),
                }
            }
        };
        pending.0 = None;
        match answer {
            Ok(ServerResult::CustomResult(CustomResult(Value::String(raw)))) => {
                Ok(http::Page { raw, refused: HashSet::new() })
            }
            Ok(ServerResult::ListToolsResult(list)) => http::page_of(list).ok_or_else(unasked),
            Ok(_) => Err(unasked()),
            Err(error) => Err(self.explain(error).await),
        }
    }

    async fn explain(&self, error: ServiceError) -> LinkError {
        match error {
            ServiceError::McpError(error)
                if error.data.as_ref().and_then(Value::as_str) == Some(UNREAD) =>
            {
                LinkError::Unread(error.message.into_owned())
            }
            ServiceError::McpError(error) => refused(&error),
            ServiceError::TransportSend(ref sent) if reason::is_challenge(sent) => {
                LinkError::Unauthorized(reason::of_request(&error))
            }
            ServiceError::TransportClosed => LinkError::Lost(self.describe_end().await),
            ServiceError::TransportSend(_) if self.child.is_some() => {
                LinkError::Lost(self.describe_end().await)
            }
            error => LinkError::Lost(reason::of_request(&error)),
        }
    }

    /// Asks a server of the newer protocol to say when its list changes, as long as it goes on doing so.
    pub(super) async fn hear_of_changes(&self) {
        let Some(info) = self.info() else { return };
        let announces =
            info.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true));
        if !announces || info.protocol_version.has_initialize() {
            return std::future::pending().await;
        }
        let peer: &Peer<RoleClient> = &self.running;
        let filter = || SubscriptionFilter::builder().tools_list_changed().build();
        let mut failures = 0_u32;
        while failures < 3 {
            match peer.listen(filter()).await {
                Err(_) => failures += 1,
                Ok(mut subscription) => {
                    failures = 0;
                    while let Ok(Some(_)) = subscription.next().await {
                        self.inbox.list_changed();
                    }
                    // What was missed while nobody listened is caught up with.
                    self.inbox.list_changed();
                }
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        std::future::pending::<()>().await;
    }
}

/// The code by which a server of the newer protocol refuses the older one's handshake.
const NO_HANDSHAKE: i32 = -32022;

/// How long the end of a child may stay behind the end of its output. It is known at once, but on a machine that is short of time.
const LAST_WORDS: Duration = Duration::from_millis(500);

fn unasked() -> LinkError {
    LinkError::Lost("its answer is not one to what was asked".to_owned())
}

/// Returns what somebody was granted at a server. A header that is configured goes before.
#[cfg(feature = "mcp-oauth")]
fn granted(url: &str, config: &ServerConfig, common: &Common) -> Option<super::oauth::Tokens> {
    let credentials = common.credentials.as_ref().filter(|_| !config.has_own_token())?;
    Some(super::oauth::Tokens::of(url, &config.oauth, credentials))
}

fn refused(error: &ErrorData) -> LinkError {
    let message = text::clean(text::cut(&error.message, 2000)).into_owned();
    LinkError::Refused { code: error.code.0, message }
}

fn describe_spawn(program: &str, directory: Option<&Path>, error: &io::Error) -> String {
    // The system says the same of both.
    if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
        return format!("the directory `{}` to run it in is not there", directory.display());
    }
    match error.kind() {
        io::ErrorKind::NotFound => format!(
            "the program `{program}` was not found; install it, or name it by its path in `command`"
        ),
        _ => format!("the program `{program}` cannot be started: {error}"),
    }
}

/// A request that is cancelled when nobody waits for its answer any more.
struct Pending(Option<RequestHandle<RoleClient>>);

impl Drop for Pending {
    fn drop(&mut self) {
        let (Some(handle), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        runtime.spawn(async move {
            let cancel = handle.cancel(Some("nobody waits for the answer any more".to_owned()));
            let _ = tokio::time::timeout(Duration::from_secs(1), cancel).await;
        });
    }
}
