//! The endpoint `/mcp`: admission of requests, and their way to the dispatcher.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use tokio::sync::mpsc;

use super::authority::AllowedOrigins;
use super::bearer::{self, ResourceMetadata};
use super::body::{self, Outgoing};
use super::cors;
use super::event_log::EventLog;
use super::event_stream::{EventStream, LiveAnswer, LiveMessage};
use super::headers::{self, HeaderVersion, LAST_EVENT, METHOD, SESSION, text};
use super::responses::{Refusal, answered, json_response};
use super::sessions::{HttpSession, HttpSessions};
use super::share::{ConnectionShares, HttpConnection, RequestGuards};
use crate::context::Principal;
use crate::mcp::server::answer::{Answer, Reply};
use crate::mcp::server::batch::{self, BatchAnswers};
use crate::mcp::server::client_requests::{ClientRequests, parsed};
use crate::mcp::server::exchange::{Exchange, PeerIdentity};
use crate::mcp::server::open_requests::OpenRequest;
use crate::mcp::server::operation;
use crate::mcp::server::outlet::Outlet;
use crate::mcp::server::protocol::{ErrorCode, Message, ProtocolError, RequestFrame, RequestMeta};
use crate::mcp::server::requests::{greeting, respond};
use crate::mcp::server::running::ServiceActivity;
use crate::mcp::server::session::{Handshake, Lifecycle, Notified};
use crate::mcp::server::shared::ServiceShared;
use crate::mcp::telemetry::{Network, Outcome};

pub(super) const PATH: &str = "/mcp";

/// The path as some clients and proxies write it.
pub(super) const SLASHED: &str = "/mcp/";
const LISTEN: &str = "subscriptions/listen";

/// The number of notifications of a call that wait to be sent.
const WAITING: usize = 16;

/// The endpoint of a service.
pub(super) struct Endpoint {
    shared: Arc<ServiceShared>,
    running: ServiceActivity,
    allowed: AllowedOrigins,
    sessions: HttpSessions,
    shares: ConnectionShares,
}

impl Endpoint {
    pub(super) fn new(shared: &Arc<ServiceShared>, running: ServiceActivity) -> Self {
        Self {
            shared: Arc::clone(shared),
            running,
            allowed: shared.options.http.allowed_origins(),
            sessions: HttpSessions::default(),
            shares: ConnectionShares::default(),
        }
    }

    /// Returns a router with this endpoint, and with the metadata of the service.
    pub(super) fn router(self: Arc<Self>) -> Router {
        let resource = self.shared.options.http.resource.as_ref().map(ResourceMetadata::router);
        let beside = self.shared.options.http.routes.clone();
        let answer = async |State(endpoint): State<Arc<Self>>, request: Request| {
            endpoint.answer(request, None).await
        };
        let router =
            Router::new().route(PATH, any(answer)).route(SLASHED, any(answer)).with_state(self);
        [resource, beside].into_iter().flatten().fold(router, Router::merge)
    }

    /// Answers a request, which came over a connection of this service or of another server.
    pub(super) async fn answer(
        &self,
        request: Request,
        connection: Option<&HttpConnection>,
    ) -> Response {
        if let Err(refusal) = self.allowed.check(request.uri(), request.headers()) {
            return refusal.into_response();
        }
        // Only pages say where they are from, and this one is let in.
        let Some(origin) = request.headers().get(header::ORIGIN).cloned() else {
            return self.answer_admitted(request, connection).await;
        };
        let mut response = match cors::preflight(request.method(), request.headers()) {
            Some(response) => response,
            None => self.answer_admitted(request, connection).await,
        };
        cors::open_to(&mut response, origin);
        response
    }

    async fn answer_admitted(
        &self,
        request: Request,
        connection: Option<&HttpConnection>,
    ) -> Response {
        let options = &self.shared.options.http;
        let (parts, body) = request.into_parts();
        let (mut principal, mut time_left) = (None, None);
        if options.asks_for_token() {
            match bearer::admitted(options, &parts.headers).await {
                Ok(admitted) => {
                    (principal, time_left) = (Some(admitted.principal), admitted.time_left);
                }
                Err(refusal) => return refusal,
            }
        } else if let Some(own) = parts.extensions.get::<Principal>() {
            principal = Some(own.clone());
        }
        // A listening stream ends with its token; an admitted call runs to its end.
        let listens = parts.method == Method::GET || text(&parts.headers, &METHOD) == Some(LISTEN);
        let guards = self.shares.take(options.max_connections, principal.as_ref(), listens);
        let Some(mut guards) = guards else {
            let text = "too many requests of yours are open; come back later";
            return Refusal::Busy(text).into_response();
        };
        // A notification stream stays open for as long as the client likes, and never has an
        // answer.
        let count = (parts.method == Method::POST).then(|| self.running.request());
        let answering = |guards: &mut RequestGuards| {
            if let Some(connection) = connection {
                guards.answering(connection);
            }
        };
        let response = if parts.method == Method::POST {
            // A connection with an incomplete body can be closed to make room.
            self.post(&parts.headers, body, principal, || answering(&mut guards)).await
        } else {
            answering(&mut guards);
            match parts.method {
                Method::GET => self.get(&parts.headers, principal.as_ref()),
                Method::DELETE => self.delete(&parts.headers, principal.as_ref()),
                _ => Err(Refusal::Method("GET, POST, DELETE")),
            }
        };
        let response = response.unwrap_or_else(IntoResponse::into_response);
        let ends_in = time_left.filter(|_| listens);
        response.map(|body| Body::new(Outgoing::new(body, count, guards, ends_in)))
    }

    async fn post(
        &self,
        headers: &HeaderMap,
        body: Body,
        principal: Option<Principal>,
        whole: impl FnOnce(),
    ) -> Result<Response, Refusal> {
        if !headers::accepts_answers(headers) {
            let text = "the Accept header has to take both application/json and text/event-stream: name them, or send `*/*`";
            return Err(Refusal::Text(StatusCode::NOT_ACCEPTABLE, text.into()));
        }
        if !headers::is_json(headers) {
            let text = "the Content-Type has to be application/json";
            return Err(Refusal::Text(StatusCode::UNSUPPORTED_MEDIA_TYPE, text.into()));
        }
        let options = &self.shared.options;
        let limit = options.max_message_bytes;
        let body = body::read(body, limit, options.http.read_timeout).await;
        let body = body.map_err(|fault| Refusal::of_body(fault, limit))?;
        whole();
        let body = body.trim_ascii();
        if body.starts_with(b"[")
            && let Ok(session) = self.session(headers, principal.as_ref())
            && session.lifecycle().has_batches()
        {
            return self.batch(&session, principal.as_ref(), body);
        }
        let message = Message::read(body)?;
        let version = version(headers)?;
        if !matches!(message, Message::Request(_)) {
            known(version)?;
        }
        match message {
            Message::Request(request) => self.request(headers, version, &request, principal).await,
            Message::Notification { method, .. } if version.is_modern() => {
                // A stateless request is cancelled by closing its connection.
                headers::check_method(headers, &method).map_err(|_| {
                    let text = "the header Mcp-Method does not match the method";
                    Refusal::Invalid(ProtocolError::new(ErrorCode::HeaderMismatch, text))
                })?;
                Ok(StatusCode::ACCEPTED.into_response())
            }
            Message::Response { .. } | Message::Ignored if version.is_modern() => {
                let text = "nothing was asked of the client that this could answer";
                Err(Refusal::Invalid(ProtocolError::new(ErrorCode::InvalidRequest, text)))
            }
            message => {
                let session = self.session(headers, principal.as_ref())?;
                self.take(&session, message);
                Ok(StatusCode::ACCEPTED.into_response())
            }
        }
    }

    /// Takes a message of a session that has no answer.
    fn take(&self, session: &Arc<HttpSession>, message: Message<'_>) {
        match message {
            Message::Notification { method, params } => match Notified::read(&method, params) {
                Notified::Cancelled(id) => session.open.cancel(&id),
                Notified::Initialized => session.tell_changes(&self.shared, &self.running),
                Notified::Nothing => {}
            },
            Message::Response { id, result } => session.requests.answer(&id, parsed(result)),
            Message::Request(_) | Message::Ignored => {}
        }
    }

    /// Answers a batch of a session as one list.
    fn batch(
        &self,
        session: &Arc<HttpSession>,
        principal: Option<&Principal>,
        body: &[u8],
    ) -> Result<Response, Refusal> {
        let messages = batch::messages(body).map_err(Refusal::Invalid)?;
        let (stream, mut answers) = (session.stream(), BatchAnswers::default());
        for message in messages {
            match message {
                Ok(Message::Request(request)) => {
                    let begun =
                        batch::check(&request).and_then(|()| request.meta()).and_then(|meta| {
                            self.begin(session, principal.cloned(), &request, meta, &stream.1)
                        });
                    match begun {
                        Ok((_, Reply::Now(answer))) => answers.now(answer.message),
                        Ok((open, Reply::Later(answer))) => answers.later(open, answer),
                        Err(error) => answers.now(Answer::error(&request.id, &error).message),
                    }
                }
                Ok(message) => self.take(session, message),
                Err(fault) => answers.fault(&fault),
            }
        }
        if answers.is_ready() {
            return Ok(match answers.list() {
                Some(list) => json_response(StatusCode::OK, list),
                None => StatusCode::ACCEPTED.into_response(),
            });
        }
        let (number, reader) = (stream.0, stream.1.read(None));
        session.answer_later(stream, answers.all());
        let keep_alive = self.shared.options.http.keep_alive;
        Ok(EventStream::session(reader, Some(number), true, keep_alive).into_response())
    }

    async fn request(
        &self,
        headers: &HeaderMap,
        version: HeaderVersion<'_>,
        request: &RequestFrame<'_>,
        principal: Option<Principal>,
    ) -> Result<Response, Refusal> {
        let failed = |error: ProtocolError| Refusal::error(&request.id, &error);
        let mut meta = request.meta().map_err(failed)?;
        meta.take_trace(|name| headers.get(name)?.to_str().ok());
        let is_handshake = request.method == "initialize";
        if is_handshake || meta.protocol_version().is_none() {
            known(version)?;
        }
        let stands_alone = if is_handshake {
            version.agrees_with_handshake(request).map_err(failed)?;
            false
        } else {
            version.stands_alone(request, &meta).map_err(failed)?
        };
        if version.is_modern() {
            let identity = || {
                let principal = principal.clone();
                PeerIdentity { principal, conversation: None, network: Network::HTTP }.context()
            };
            headers::check(headers, request, || self.shared.listing(&identity()))
                .map_err(failed)?;
        }
        if stands_alone {
            let peer = PeerIdentity { principal, conversation: None, network: Network::HTTP };
            return Ok(self.stateless(request, meta, &peer).await);
        }
        if is_handshake && !headers.contains_key(SESSION) {
            return self.handshake(version, request, &meta, principal);
        }
        let session = self.session(headers, principal.as_ref())?;
        self.in_session(&session, principal, request, meta)
    }

    /// Answers a request that stands alone, on its own connection.
    async fn stateless(
        &self,
        request: &RequestFrame<'_>,
        meta: RequestMeta,
        peer: &PeerIdentity,
    ) -> Response {
        let cancellation = self.running.ending().child_token();
        let (outbox, notes) = mpsc::channel(WAITING);
        let exchange = Exchange {
            shared: &self.shared,
            running: &self.running,
            lifecycle: &mut Lifecycle::Stateless,
            peer,
            outlet: &Outlet::Queue(outbox),
            requests: &ClientRequests::default(),
            cancellation: cancellation.clone(),
        };
        let work = match respond(exchange, request, meta) {
            Reply::Now(answer) => return answered(answer),
            Reply::Later(work) => work,
        };
        let mut answer = LiveAnswer::new(work, notes, cancellation);
        match answer.next().await {
            LiveMessage::Answer(answer) => answered(answer),
            LiveMessage::Notification(note) => {
                let keep_alive = self.shared.options.http.keep_alive;
                EventStream::live(note, answer, keep_alive).into_response()
            }
        }
    }

    fn handshake(
        &self,
        version: HeaderVersion<'_>,
        request: &RequestFrame<'_>,
        meta: &RequestMeta,
        principal: Option<Principal>,
    ) -> Result<Response, Refusal> {
        let peer = PeerIdentity { network: Network::HTTP, ..PeerIdentity::default() };
        let operation = operation::begin(&self.shared, &peer, &Lifecycle::Unset, request, meta);
        let handshake = match Handshake::read(request) {
            Ok(handshake) => Arc::new(handshake),
            Err(error) => {
                // Stateless versions do not have the method at all; but an older client may name
                // one of them in a whole handshake.
                let unknown = || ProtocolError::method_not_found(&request.method);
                let error = if version.is_modern() { unknown() } else { error };
                operation.end(|| Outcome::refused(error.code.number(), error.message()));
                return Err(Refusal::error(&request.id, &error));
            }
        };
        let lifecycle = Lifecycle::Handshake(Arc::clone(&handshake));
        let session = self.sessions.begin(&self.shared, &self.running, principal, lifecycle)?;
        let answer = greeting(&self.shared, request, &handshake, Some(&session.id));
        let mut response = json_response(StatusCode::OK, answer.message);
        if let Ok(id) = HeaderValue::try_from(&*session.id) {
            response.headers_mut().insert(SESSION, id);
        }
        operation.end(Outcome::default);
        Ok(response)
    }

    /// Answers a request of a session. A call goes on without its connection, and its client may
    /// reconnect for the answer.
    fn in_session(
        &self,
        session: &Arc<HttpSession>,
        principal: Option<Principal>,
        request: &RequestFrame<'_>,
        meta: RequestMeta,
    ) -> Result<Response, Refusal> {
        let stream = session.stream();
        let begun = self.begin(session, principal, request, meta, &stream.1);
        let (open, reply) = begun.map_err(|error| Refusal::error(&request.id, &error))?;
        match reply {
            // Errors of older versions have no status of their own.
            Reply::Now(answer) => Ok(json_response(StatusCode::OK, answer.message)),
            Reply::Later(work) => {
                let (number, reader) = (stream.0, stream.1.read(None));
                session.answer_later(stream, async move {
                    let answer = work.await;
                    open.finish().then_some(answer.message)
                });
                let keep_alive = self.shared.options.http.keep_alive;
                Ok(EventStream::session(reader, Some(number), true, keep_alive).into_response())
            }
        }
    }

    /// Begins a request of a session, whose messages beside the answer go to a stream.
    fn begin(
        &self,
        session: &HttpSession,
        principal: Option<Principal>,
        request: &RequestFrame<'_>,
        meta: RequestMeta,
        stream: &Arc<EventLog>,
    ) -> Result<(OpenRequest, Reply), ProtocolError> {
        let cancellation = session.cancellation();
        let open = session.open.begin(&request.id, &cancellation)?;
        let mut lifecycle = session.lifecycle();
        let exchange = Exchange {
            shared: &self.shared,
            running: &self.running,
            lifecycle: &mut lifecycle,
            peer: &session.peer(principal),
            outlet: &Outlet::Log(Arc::clone(stream)),
            requests: &session.requests,
            cancellation,
        };
        let reply = respond(exchange, request, meta);
        if request.method == "initialize" && matches!(reply, Reply::Now(_)) {
            session.set_lifecycle(lifecycle);
        }
        Ok((open, reply))
    }

    /// Opens the stream of a session, or one again whose connection was lost.
    fn get(&self, headers: &HeaderMap, principal: Option<&Principal>) -> Result<Response, Refusal> {
        if !headers::accepts(headers, "text/event-stream") {
            let text = "the client has to accept text/event-stream";
            return Err(Refusal::Text(StatusCode::NOT_ACCEPTABLE, text.into()));
        }
        let version = version(headers)?;
        known(version)?;
        if version.is_modern() {
            return Err(Refusal::Method("POST"));
        }
        let session = self.session(headers, principal)?;
        let keep_alive = self.shared.options.http.keep_alive;
        let stream = match text(headers, &LAST_EVENT) {
            None => EventStream::session(session.common().read(None), None, true, keep_alive),
            Some(event) => match session.resumed(event) {
                Some((stream, log, event)) => {
                    EventStream::session(log.read(Some(event)), stream, false, keep_alive)
                }
                None => EventStream::empty(),
            },
        };
        Ok(stream.into_response())
    }

    fn delete(
        &self,
        headers: &HeaderMap,
        principal: Option<&Principal>,
    ) -> Result<Response, Refusal> {
        let version = version(headers)?;
        known(version)?;
        if version.is_modern() {
            return Err(Refusal::Method("POST"));
        }
        let session = self.session(headers, principal)?;
        self.sessions.end(&session);
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    /// Returns the session that a request names.
    fn session(
        &self,
        headers: &HeaderMap,
        principal: Option<&Principal>,
    ) -> Result<Arc<HttpSession>, Refusal> {
        let Some(id) = text(headers, &SESSION) else {
            return Err(Refusal::bad_request("Bad Request: Session ID is required"));
        };
        // The same response for an unknown session and for that of another principal.
        self.sessions.get(id, principal).ok_or_else(|| {
            Refusal::Text(StatusCode::NOT_FOUND, "Not Found: Session not found".into())
        })
    }
}

fn version(headers: &HeaderMap) -> Result<HeaderVersion<'_>, Refusal> {
    HeaderVersion::of(headers).map_err(Refusal::bad_request)
}

/// Refuses a version that is unknown, where the body does not name it again.
fn known(version: HeaderVersion<'_>) -> Result<(), Refusal> {
    match version.unknown() {
        None => Ok(()),
        Some(version) => {
            let text = format!("Bad Request: Unsupported MCP-Protocol-Version: {version}");
            Err(Refusal::bad_request(text))
        }
    }
}
