//! A connection to one server: the handshake, and the requests sent over it.

mod handshake;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, CustomRequest, CustomResult, ErrorCode,
    ErrorData, ExtensionCapabilities, Implementation, ListToolsRequest, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ServerPeerInfo, ServerResult,
};
use rmcp::service::{
    NotificationContext, Peer, PeerRequestOptions, RequestContext, RequestHandle, RunningService,
    ServiceError,
};
use rmcp::{ClientHandler, RoleClient};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tracing::Instrument;

use super::connection_error::ConnectionError;
use super::envelope::{QUESTION, UNREAD};
use super::list::{MAX_PAGES, MAX_TOOLS, ToolList};
use super::notifications::Notifications;
use super::operation::outcome_of;
use super::pages::{NextPage, PageWalk};
use super::request_meta::add_trace;
use super::server_log::ServerLog;
use super::startup::Startup;
use super::stdio::Child;
use super::{http, reason, text};
use crate::context::ToolContext;
use crate::context::trace::trace_here;
use crate::event::Reporter;
use crate::mcp::config::ServerConfig;
use crate::mcp::count::Count;
use crate::mcp::frames::FrameObserver;
use crate::mcp::telemetry::{Operation, Outcome, SessionTimer};
use crate::sync::Mutex;
use crate::text::cut;

/// Options and resources common to the connections of all servers of a box.
#[derive(Debug)]
pub(super) struct ConnectionOptions {
    /// The maximum size of one message, in bytes.
    pub(super) message: usize,
    /// The sinks of the box, if one wants the requests to servers.
    pub(super) reporter: Option<Arc<Reporter>>,
    /// The HTTP client for servers with a URL.
    pub(super) http: http::SharedClient,
    /// The number of child processes that are not fully ended, with everything they started.
    pub(super) children: Count,
    /// `true` if servers of older versions are told that questions to the user are answered.
    pub(super) answers_questions: bool,
    /// `true` if servers are told that pages of apps are displayed.
    pub(super) displays_apps: bool,
    /// What is spoken with servers of versions both with and without a handshake.
    pub(super) preference: VersionPreference,
    /// The observer of all messages.
    pub(super) frames: Option<FrameObserver>,
    /// The tokens of servers that a user signed in to.
    #[cfg(feature = "mcp-oauth")]
    pub(super) credentials: Option<super::oauth::CredentialFile>,
    /// `true` if the user of a call may be asked to sign in.
    #[cfg(feature = "mcp-oauth")]
    pub(super) asks_to_sign_in: bool,
}

/// What is spoken with a server of versions both with and without a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionPreference {
    Newest,
    Handshake,
}

#[cfg(feature = "mcp-oauth")]
impl ConnectionOptions {
    /// Returns the file for tokens, if the user of a call may be asked to sign in.
    pub(super) fn credentials_for_questions(&self) -> Option<&super::oauth::CredentialFile> {
        self.credentials.as_ref().filter(|_| self.asks_to_sign_in)
    }
}

/// A server to connect to.
pub(super) struct ConnectionTarget<'a> {
    pub(super) name: &'a Arc<str>,
    pub(super) config: &'a ServerConfig,
    pub(super) startup: &'a Startup,
    pub(super) log: &'a Arc<ServerLog>,
    #[cfg(feature = "mcp-oauth")]
    pub(super) tokens: Option<&'a super::oauth::Tokens>,
}

/// An initialized connection to a server.
pub(super) struct Connection {
    running: RunningService<RoleClient, NotificationHandler>,
    child: Option<Child>,
    pub(super) notifications: Arc<Notifications>,
    /// The session, of a connection with a handshake.
    session: Mutex<SessionTimer>,
}

/// A request that was sent.
pub(super) struct SentRequest {
    pub(super) handle: RequestHandle<RoleClient>,
    operation: Operation,
    is_call: bool,
}

/// The origin of a request.
#[derive(Clone, Copy, Default)]
pub(super) struct RequestOrigin<'a> {
    /// The context of the call that the request is made for.
    pub(super) context: Option<&'a ToolContext>,
    /// `true` for the first request of a call, for which the span of the call stands.
    pub(super) joins_call: bool,
}

/// The callbacks of rmcp that are used. Requests from servers are refused, mostly by rmcp's
/// defaults.
#[derive(Clone)]
struct NotificationHandler {
    notifications: Arc<Notifications>,
    /// The capabilities that servers of older versions are told.
    capabilities: ClientCapabilities,
    /// The version that is asked for in a handshake.
    version: ProtocolVersion,
}

impl ClientHandler for NotificationHandler {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("toolbox", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(self.capabilities.clone(), own)
            .with_protocol_version(self.version.clone())
    }

    #[expect(deprecated, reason = "older servers ask for roots, and newer ones may still")]
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "there are no roots", None))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != QUESTION {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None));
        }
        let params = request.params.unwrap_or_default();
        let link = &self.notifications.link;
        let operation = link.begin_asked("elicitation/create", &context.id, &params);
        let answer = self.notifications.elicit(params).instrument(operation.span());
        tokio::select! {
            result = answer => {
                operation.end(Outcome::default);
                Ok(CustomResult::new(result))
            }
            () = context.ct.cancelled() => {
                Err(ErrorData::new(ErrorCode::INTERNAL_ERROR, "cancelled", None))
            }
        }
    }

    async fn on_progress(
        &self,
        report: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.notifications.report(report);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.notifications.list_changed();
    }
}

/// One page of a tool list, with each tool as raw JSON.
#[derive(Deserialize)]
struct ToolListPage<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(rename = "nextCursor", default)]
    next: Option<String>,
}

impl Connection {
    /// Returns the extensions of the protocol that are declared to the server.
    pub(super) fn extensions(&self) -> Option<&ExtensionCapabilities> {
        self.running.service().capabilities.extensions.as_ref()
    }

    /// Reports that the server went away.
    pub(super) fn session_lost(&self) {
        self.session.lock().end(Some("connection_lost"));
    }

    pub(super) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.running.peer_info()
    }

    /// Returns `true` if each request of the connection stands alone.
    pub(super) fn is_stateless(&self) -> bool {
        self.info().is_some_and(|info| !info.protocol_version.has_initialize())
    }

    /// Returns `true` if the server knows the connection by a session over HTTP.
    pub(super) fn is_in_session(&self) -> bool {
        self.child.is_none() && !self.is_stateless()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.notifications.is_ended()
            || self.running.is_closed()
            || self.running.is_transport_closed()
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
            // rmcp has no event for a closed transport, so it is polled.
            let mut poll = tokio::time::interval(Duration::from_millis(500));
            while !self.running.is_transport_closed() {
                poll.tick().await;
            }
        };
        tokio::select! {
            () = self.notifications.until_ended() => {}
            () = child_gone => {}
            () = transport_closed => {}
        }
    }

    /// Returns the reason why the connection ended.
    pub(super) async fn describe_end(&self) -> String {
        match &self.child {
            Some(child) => {
                let _ = tokio::time::timeout(EXIT_STATUS_WAIT, child.gone()).await;
                format!("the server {}", child.describe_end())
            }
            None => "the connection was closed".to_owned(),
        }
    }

    /// Ends the connection, and the child process with everything it started.
    pub(super) async fn close(&self) {
        self.running.cancellation_token().cancel();
        self.notifications.ended();
        self.session.lock().end(None);
        if let Some(child) = &self.child {
            child.close().await;
        }
    }

    /// Requests the whole list of tools.
    pub(super) async fn list(&self) -> Result<ToolList, ConnectionError> {
        let mut listed = ToolList::default();
        let mut walk = PageWalk::default();
        for page in 1.. {
            let params = PaginatedRequestParams::default().with_cursor(walk.cursor());
            let request = ListToolsRequest::with_param(params);
            let sent = self.send(ClientRequest::ListToolsRequest(request)).await?;
            let answer = match self.answer(sent).await {
                Err(ConnectionError::Refused { .. }) if walk.may_be_over() => break,
                answer => answer?,
            };
            let page_of_tools: ToolListPage<'_> =
                serde_json::from_str(&answer.raw).map_err(|error| {
                    ConnectionError::Lost(format!("its list of tools cannot be read: {error}"))
                })?;
            let is_new = walk.enter(&page_of_tools.tools);
            if is_new {
                for tool in page_of_tools.tools {
                    listed.add(tool.get(), &answer.refused);
                }
            }
            match walk.next(page_of_tools.next, is_new) {
                NextPage::Another => {}
                NextPage::End => break,
                NextPage::Repeats => {
                    let notice =
                        "its list of tools repeats a page or a cursor; the rest was not read";
                    listed.cut(notice.to_owned());
                    break;
                }
            }
            if page == MAX_PAGES || listed.len() >= MAX_TOOLS {
                let count = listed.len();
                listed.cut(format!(
                    "its list of tools goes on after {page} pages and {count} tools; the rest was not read"
                ));
                break;
            }
        }
        self.list_offers(&mut listed).await;
        Ok(listed)
    }

    /// Sends a request that is made for no call.
    pub(super) async fn send(
        &self,
        request: ClientRequest,
    ) -> Result<SentRequest, ConnectionError> {
        self.send_from(request, PeerRequestOptions::default(), RequestOrigin::default()).await
    }

    pub(super) async fn send_from(
        &self,
        request: ClientRequest,
        mut options: PeerRequestOptions,
        origin: RequestOrigin<'_>,
    ) -> Result<SentRequest, ConnectionError> {
        let is_call = matches!(request, ClientRequest::CallToolRequest(_));
        let operation = self.begin(&request, origin);
        let trace = || origin.context.map_or_else(trace_here, ToolContext::current_trace);
        if let Some(trace) = operation.within(trace) {
            add_trace(options.meta.get_or_insert_default(), &trace);
        }
        match self.running.send_request_with_option(request, options).await {
            Ok(handle) => {
                operation.sent_as(&handle.id);
                Ok(SentRequest { handle, operation, is_call })
            }
            Err(error) => {
                let error = self.explain(error).await;
                operation.end(|| outcome_of(&error));
                Err(error)
            }
        }
    }

    fn begin(&self, request: &ClientRequest, origin: RequestOrigin<'_>) -> Operation {
        let link = &self.notifications.link;
        if !link.is_wanted() {
            return Operation::default();
        }
        let info = self.info();
        let version = info.as_ref().map(|info| info.protocol_version.as_str());
        link.begin(request, version, origin.joins_call)
    }

    /// Waits for an answer. Dropping the future cancels the request at the server.
    pub(super) async fn answer(
        &self,
        sent: SentRequest,
    ) -> Result<http::WrappedPage, ConnectionError> {
        let SentRequest { handle, operation, is_call } = sent;
        let answer = self.answer_to(handle).await;
        operation.end(|| match &answer {
            Ok(answer) if is_call => Outcome::of_result(&answer.raw),
            Ok(_) => Outcome::default(),
            Err(error) => outcome_of(error),
        });
        answer
    }

    async fn answer_to(
        &self,
        handle: RequestHandle<RoleClient>,
    ) -> Result<http::WrappedPage, ConnectionError> {
        let mut pending = Pending(Some(handle));
        let Some(handle) = &mut pending.0 else { return Err(ConnectionError::Lost(String::new())) };
        let answer = tokio::select! {
            biased;
            answer = &mut handle.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
            () = self.notifications.until_ended() => {
                // An answer from before the end may still be on its way through the service.
                match tokio::time::timeout(Duration::from_millis(20), &mut handle.rx).await {
                    Ok(Ok(answer)) => answer,
                    _ => Err(ServiceError::TransportClosed),
                }
            }
        };
        pending.0 = None;
        match answer {
            Ok(ServerResult::CustomResult(CustomResult(Value::String(raw)))) => {
                Ok(http::WrappedPage { raw, refused: HashSet::new() })
            }
            Ok(ServerResult::ListToolsResult(list)) => http::page_of(list).ok_or_else(unasked),
            Ok(_) => Err(unasked()),
            Err(error) => Err(self.explain(error).await),
        }
    }

    async fn explain(&self, error: ServiceError) -> ConnectionError {
        match error {
            ServiceError::McpError(error)
                if error.data.as_ref().and_then(Value::as_str) == Some(UNREAD) =>
            {
                ConnectionError::Unread(error.message.into_owned())
            }
            ServiceError::McpError(error) => refused(error),
            ServiceError::TransportSend(ref sent) if reason::is_challenge(sent) => {
                let scopes = reason::required_scopes(sent);
                let is_challenged = reason::names_a_way(sent);
                let is_ended = reason::is_ended(sent);
                let reason = reason::of_request(&error);
                ConnectionError::Unauthorized { reason, is_challenged, is_ended, scopes }
            }
            ServiceError::TransportSend(ref sent) if reason::is_session_lost(sent) => {
                ConnectionError::SessionLost
            }
            // The stream of one answer alone, which rmcp tells in the same way.
            ServiceError::TransportClosed if self.child.is_none() && !self.is_closed() => {
                ConnectionError::Lost("the stream of its answer ended without an answer".to_owned())
            }
            ServiceError::TransportClosed => ConnectionError::Lost(self.describe_end().await),
            ServiceError::TransportSend(_) if self.child.is_some() => {
                ConnectionError::Lost(self.describe_end().await)
            }
            error => ConnectionError::Lost(reason::of_request(&error)),
        }
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        &self.running
    }
}

/// The time to wait for a child's exit status after its output ended. Longer than needed unless the
/// machine is overloaded.
const EXIT_STATUS_WAIT: Duration = Duration::from_millis(500);

fn unasked() -> ConnectionError {
    ConnectionError::Lost("its answer does not match the request".to_owned())
}

/// Returns the error of a server that answered with it.
pub(super) fn refused(error: ErrorData) -> ConnectionError {
    let message = text::clean(cut(&error.message, 2000)).into_owned();
    ConnectionError::Refused { code: error.code.0, message, data: error.data.map(Box::new) }
}

/// A request that is cancelled when it is dropped.
struct Pending(Option<RequestHandle<RoleClient>>);

impl Drop for Pending {
    fn drop(&mut self) {
        let (Some(handle), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        runtime.spawn(async move {
            let cancel = handle.cancel(Some("the answer is no longer needed".to_owned()));
            let _ = tokio::time::timeout(Duration::from_secs(1), cancel).await;
        });
    }
}
