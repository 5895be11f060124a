//! The HTTP checks and sessions in front of the protocol.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rmcp::model::{ErrorData, ProtocolVersion, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::authority::AllowedOrigins;
use super::bearer;
use super::bearer::ResourceMetadata;
use super::body::{Incoming, Outgoing};
use super::share::{ConnectionShares, HttpConnection};
use crate::context::{Conversation, Principal};
use crate::mcp::count::{Count, CountGuard};
use crate::mcp::server::handler::ConnectionHandler;
use crate::mcp::server::in_flight::{self, InFlight, Slot};
use crate::mcp::server::running::ServiceActivity;
use crate::mcp::server::shared::{ServiceOptions, ServiceShared};
use crate::mcp::server::text::ArgumentsText;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const LISTEN: &str = "subscriptions/listen";
const INITIALIZE: &str = "initialize";

/// The routes of a service, and the means to end their sessions.
pub(super) struct HttpRoutes {
    pub(super) router: Router,
    pub(super) stop: Box<dyn Fn() + Send + Sync>,
}

impl HttpRoutes {
    pub(super) fn new(shared: &Arc<ServiceShared>, running: ServiceActivity) -> Self {
        let options = &shared.options;
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(options.http.session_idle);
        let sessions = Arc::new(sessions);
        let config = config(options);
        let token = config.cancellation_token.clone();
        let admission = Arc::new(Admission {
            shared: Arc::clone(shared),
            allowed: AllowedOrigins::new(&options.http),
            running: running.clone(),
            sessions: Arc::clone(&sessions),
            owners: Mutex::default(),
            beginning: Count::default(),
            in_flight: InFlight::default(),
            shares: ConnectionShares::default(),
        });
        let resource = options.http.resource.as_ref().map(ResourceMetadata::router);
        let shared = Arc::clone(shared);
        let make = move || Ok(ConnectionHandler::new(Arc::clone(&shared), running.clone()));
        let service = StreamableHttpService::new(make, sessions, config);
        let mut router = Router::new()
            .route_service("/mcp", service)
            .layer(from_fn_with_state(admission, enter));
        if let Some(resource) = resource {
            router = router.merge(resource);
        }
        Self { router, stop: Box::new(move || token.cancel()) }
    }
}

fn config(options: &ServiceOptions) -> StreamableHttpServerConfig {
    // The SDK takes `[::1].evil.example` for `[::1]`; hosts and origins have been checked already.
    StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_sse_keep_alive(Some(options.http.keep_alive))
        .with_max_request_body_bytes(options.max_message_bytes)
        .disable_allowed_hosts()
        .disable_allowed_origins()
}

/// Admission of requests, and the owners of sessions.
struct Admission {
    shared: Arc<ServiceShared>,
    allowed: AllowedOrigins,
    running: ServiceActivity,
    sessions: Arc<LocalSessionManager>,
    owners: Mutex<HashMap<String, Principal>>,
    /// Requests that may start a session, until they have.
    beginning: Count,
    in_flight: InFlight,
    shares: ConnectionShares,
}

async fn enter(
    State(admission): State<Arc<Admission>>,
    mut request: Request,
    next: Next,
) -> Response {
    let options = &admission.shared.options;
    if let Err(refusal) = admission.allowed.check(&request) {
        return refusal.into_response();
    }
    let mut time_left = None;
    if options.http.asks_for_token() {
        match bearer::admitted(&options.http, request.headers()).await {
            Ok(admitted) => {
                request.extensions_mut().insert(admitted.principal);
                time_left = admitted.time_left;
            }
            Err(refusal) => return refusal,
        }
    }
    // Nothing after this needs the token, so nothing after this can leak it.
    request.headers_mut().remove(header::AUTHORIZATION);
    let principal = request.extensions().get::<Principal>().cloned();
    let session = text(request.headers(), SESSION).map(str::to_owned);
    // A listening stream ends with its token; an admitted call runs to its end.
    let listens =
        request.method() == Method::GET || text(request.headers(), METHOD) == Some(LISTEN);
    let Some(guards) =
        admission.shares.take(options.http.max_connections, principal.as_ref(), listens)
    else {
        return busy("too many requests of yours are open; come back later");
    };
    let mut beginning = None;
    match &session {
        Some(session) if admission.owner(session).is_some_and(|own| Some(own) != principal) => {
            // The same response as for an unknown session.
            return (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response();
        }
        None if begins_session(&request) => {
            beginning = admission.room().await;
            if beginning.is_none() {
                return busy("too many sessions are open; come back later");
            }
        }
        _ => {}
    }
    let (was_json, method) = (is_json(request.headers()), request.method().clone());
    let ends_in = time_left.filter(|_| listens);
    // A notification stream stays open for as long as the client likes, and never has an answer.
    let count = (method == Method::POST).then(|| admission.running.request());
    let was_late = Arc::new(AtomicBool::new(false));
    let arguments = ArgumentsText::default();
    request.extensions_mut().insert(arguments.clone());
    if let Some(session) = &session {
        request.extensions_mut().insert(Conversation::new("mcp", session));
    }
    let slot = session.clone().map(|session| {
        let (slot, call) = admission.in_flight.slot(session);
        // The call may outlive the connection.
        request.extensions_mut().insert(call);
        slot
    });
    let own = slot.clone();
    let guards = Arc::new(Mutex::new(guards));
    let connection = request.extensions().get::<HttpConnection>().cloned();
    let answering = connection.map(|connection| {
        let guards = Arc::downgrade(&guards);
        // A connection with an incomplete body can be closed to make room.
        move || {
            if let Some(guards) = guards.upgrade() {
                guards.lock().unwrap_or_else(PoisonError::into_inner).answering(&connection);
            }
        }
    });
    if request.method() == Method::GET
        && let Some(answering) = &answering
    {
        answering();
    }
    let request = request.map(|body| {
        Body::new(Incoming::new(body, &was_late, arguments, own, &admission.shared).then(answering))
    });
    let response = next.run(request).await;
    drop(beginning);
    if let Some(id) = slot.as_ref().and_then(Slot::refused) {
        let message = ServerJsonRpcMessage::error(in_flight::error(&id), Some(id));
        return (StatusCode::BAD_REQUEST, axum::Json(message)).into_response();
    }
    let response = corrected(response, &method, was_json, was_late.load(Ordering::Relaxed));
    if let (None, Some(principal), Some(opened)) =
        (session, principal, text(response.headers(), SESSION))
    {
        admission.remember(opened, principal).await;
    }
    response.map(|body| Body::new(Outgoing::new(body, count, slot, guards, ends_in)))
}

fn busy(text: &'static str) -> Response {
    let wait = [(header::RETRY_AFTER, "5")];
    (StatusCode::SERVICE_UNAVAILABLE, wait, text).into_response()
}

impl Admission {
    fn owner(&self, session: &str) -> Option<Principal> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner).get(session).cloned()
    }

    /// Returns a guard for one more session, to be held until it is open.
    async fn room(&self) -> Option<CountGuard> {
        let open = self.sessions.sessions.read().await.len();
        self.beginning.take_below(self.shared.options.http.max_sessions.saturating_sub(open))
    }

    /// Records the owner of a session, and removes ended sessions.
    async fn remember(&self, session: &str, principal: Principal) {
        let open = self.sessions.sessions.read().await;
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|id, _| open.contains_key(id.as_str()));
        owners.insert(session.to_owned(), principal);
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Returns whether a request without a session can start one. From 2026-07-28 on, requests have no
/// session and name their method; but the handshake belongs to the older protocol, whatever version
/// it names, and need not name its method.
fn begins_session(request: &Request) -> bool {
    let modern = ProtocolVersion::V_2026_07_28;
    let is_old = |version: &str| version < modern.as_str();
    let method = text(request.headers(), METHOD);
    request.method() == Method::POST
        && (text(request.headers(), VERSION).is_none_or(is_old)
            || method.is_none_or(|method| method == INITIALIZE))
}

/// Corrects statuses of the SDK: for an invalid body, for a body that arrived too late, and for the
/// end of a session, where other SDKs treat 202 as a failure.
fn corrected(mut response: Response, method: &Method, was_json: bool, was_late: bool) -> Response {
    if was_late {
        return (StatusCode::REQUEST_TIMEOUT, "the body did not come in time").into_response();
    }
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && was_json {
        let error = ErrorData::parse_error("the body is not a JSON-RPC message", None);
        let message = ServerJsonRpcMessage::error(error, None);
        return (StatusCode::BAD_REQUEST, axum::Json(message)).into_response();
    }
    if response.status() == StatusCode::ACCEPTED && method == Method::DELETE {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

fn is_json(headers: &HeaderMap) -> bool {
    text(headers, header::CONTENT_TYPE.as_str())
        .and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}
