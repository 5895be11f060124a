//! Requests and answers over HTTP. rmcp manages sessions and headers, and receives valid messages
//! only.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcRequest, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::body::bounded;
use super::demand::answered;
use super::event_stream::{EventStream, Events, is_answer};
use super::events::{SseEvent, SseParser};
use super::foreign::{self, OLD_TRANSPORT};
use super::lost_session;
use super::parameters::in_envelope_with_headers;
use super::refusal::HttpRefusal;
use super::reopened::Reopened;
use super::session_stream::SessionStream;
use crate::mcp::client::envelope::{MessageReader, error_of};
use crate::mcp::client::notifications::Notifications;
#[cfg(feature = "mcp-oauth")]
use crate::mcp::client::oauth::Tokens;
use crate::mcp::frames::FrameDirection;
use crate::sync::Mutex;

type Error = StreamableHttpError<reqwest::Error>;

/// The maximum number of interrupted streams that wait to be resumed.
const MAX_PARKED: usize = 64;

/// The maximum time in which a server of the old transport names its address for messages.
const OLD_WAIT: Duration = Duration::from_secs(3);

/// The HTTP transport to one server.
#[derive(Clone)]
pub(in crate::mcp::client) struct HttpTransport {
    client: reqwest::Client,
    pub(super) max_message: usize,
    pub(super) notifications: Arc<Notifications>,
    parked: Arc<Mutex<VecDeque<(String, MessageReader)>>>,
    /// The session that was lost last, in which nothing more is sent.
    lost: Arc<Mutex<Option<Arc<str>>>>,
    /// `true` after a status of 401 was taken for a lost session, until a call succeeds.
    is_refused: Arc<AtomicBool>,
    stream: Arc<SessionStream>,
    reopened: Arc<Reopened>,
    /// The tokens granted by the server.
    #[cfg(feature = "mcp-oauth")]
    tokens: Option<Tokens>,
}

impl HttpTransport {
    pub(in crate::mcp::client) fn new(
        client: reqwest::Client,
        max_message: usize,
        notifications: Arc<Notifications>,
    ) -> Self {
        Self {
            client,
            max_message,
            notifications,
            parked: Arc::default(),
            lost: Arc::default(),
            is_refused: Arc::default(),
            stream: Arc::default(),
            reopened: Arc::default(),
            #[cfg(feature = "mcp-oauth")]
            tokens: None,
        }
    }

    #[cfg(feature = "mcp-oauth")]
    pub(in crate::mcp::client) fn with_tokens(self, tokens: Option<Tokens>) -> Self {
        Self { tokens, ..self }
    }

    async fn send(
        &self,
        request: RequestBuilder,
        headers: HeaderMap,
        token: Option<String>,
    ) -> Result<Response, Error> {
        let request = request.headers(headers);
        #[cfg(feature = "mcp-oauth")]
        if let Some(tokens) = &self.tokens {
            return tokens.send(request).await;
        }
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        answered(request.send().await)
    }

    /// Returns `true` if the address is one of the old transport: its stream begins with the
    /// address for messages.
    async fn is_old(&self, uri: &str, mut headers: HeaderMap, token: Option<String>) -> bool {
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let asked = async {
            match self.send(self.client.get(uri), headers, token).await {
                Ok(response) => foreign::begins_as_old(response).await,
                Err(_) => false,
            }
        };
        tokio::time::timeout(OLD_WAIT, asked).await.unwrap_or(false)
    }

    pub(super) fn reader(&self) -> MessageReader {
        MessageReader::new(Arc::clone(&self.notifications), in_envelope_with_headers)
    }

    /// Keeps the pending requests of a stream until it is resumed.
    pub(super) fn park(&self, event: String, reader: MessageReader) {
        let mut parked = self.parked.lock();
        if parked.len() == MAX_PARKED {
            parked.pop_front();
        }
        parked.push_back((event, reader));
    }

    fn unpark(&self, event: &str) -> Option<MessageReader> {
        let mut parked = self.parked.lock();
        let at = parked.iter().position(|(id, _)| id == event)?;
        parked.remove(at).map(|(_, reader)| reader)
    }

    /// Returns a refusal as an error, with the JSON-RPC error in its body, if any.
    fn refused(&self, refusal: HttpRefusal) -> (Error, Option<ErrorData>) {
        #[derive(Deserialize)]
        struct RefusalBody {
            // Without it, the error is one of a gateway, and the status says more.
            #[serde(rename = "jsonrpc")]
            _version: IgnoredAny,
            error: serde_json::Value,
        }
        let error = unexpected(refusal.reason());
        let body = refusal.body;
        let error_data = serde_json::from_slice::<RefusalBody>(&body)
            .ok()
            .map(|refusal| error_of(refusal.error));
        if error_data.is_some() {
            self.notifications.frame(FrameDirection::Received, &body);
        }
        (error, error_data)
    }

    /// Returns the answer contained in a refusal. With `is_probe`, any refusal is an answer: older
    /// servers do not know the request.
    fn answer_in_refusal(
        &self,
        refusal: HttpRefusal,
        id: RequestId,
        is_probe: bool,
    ) -> Result<StreamableHttpPostResponse, Error> {
        let status = refusal.status;
        let (error, error_data) = self.refused(refusal);
        let is_about_us = matches!(status, StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS);
        let answer = match error_data {
            _ if is_about_us => None,
            None if is_probe && status.is_client_error() => {
                Some(ErrorData::invalid_request(error.to_string(), None))
            }
            error_data => error_data,
        };
        // The id may be missing, since a refusal can be sent before the request is parsed.
        let message = answer.map(|answer| ServerJsonRpcMessage::error(answer, Some(id)));
        message.map(|message| StreamableHttpPostResponse::Json(message, None)).ok_or(error)
    }

    /// Reads the answer to a request, or its stream.
    async fn read_answer(
        &self,
        response: Response,
        request: JsonRpcRequest<ClientRequest>,
        in_session: bool,
    ) -> Result<StreamableHttpPostResponse, Error> {
        let session = response.headers().get("mcp-session-id");
        let session = session.and_then(|id| id.to_str().ok()).map(str::to_owned);
        self.notifications.link.in_session(session.as_deref());
        let mut reader = self.reader();
        reader.expect(&request.id, &request.request);
        match kind(&response) {
            BodyKind::Events => {
                let mut events = EventStream::new(self.clone(), response, reader, None);
                // rmcp learns from a list which arguments go into headers, but not from one whose
                // stream it sees end before it looks at the messages. One that is no stream is
                // safe.
                let is_handshake = matches!(
                    request.request,
                    ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_)
                );
                if (matches!(request.request, ClientRequest::ListToolsRequest(_)) || is_handshake)
                    && !in_session
                    && let Some(list) = events.first_is_answer().await
                {
                    return Ok(StreamableHttpPostResponse::Json(list, session));
                }
                if events.is_old {
                    return Err(unexpected(OLD_TRANSPORT));
                }
                Ok(StreamableHttpPostResponse::Sse(events.boxed(), session))
            }
            BodyKind::Page => Err(unexpected(foreign::page())),
            kind => {
                let status = response.status();
                let answer = match bounded(response, self.max_message).await? {
                    Some(body) if foreign::is_html(None, &body) => {
                        return Err(unexpected(foreign::page()));
                    }
                    Some(body) if body.trim_ascii().is_empty() => {
                        return Err(unexpected(format!("its answer is empty (HTTP {status})")));
                    }
                    Some(body) => {
                        self.notifications.frame(FrameDirection::Received, &body);
                        if in_session && lost_session::is_told_by(&body) {
                            return Err(StreamableHttpError::SessionExpired);
                        }
                        self.answer_in(&body, &mut reader)
                    }
                    None => {
                        self.notifications.cut_frame(b"");
                        reader.cut_off()
                    }
                };
                match (answer, kind) {
                    (Some(answer), _) => Ok(StreamableHttpPostResponse::Json(answer, session)),
                    (None, BodyKind::Other(kind)) => {
                        Err(StreamableHttpError::UnexpectedContentType(kind))
                    }
                    (None, _) => Err(unexpected("its answer does not match the request")),
                }
            }
        }
    }

    /// Returns the answer in a whole body, be it JSON or events: what it is shows at its beginning,
    /// whatever content type its server names.
    fn answer_in(&self, body: &[u8], reader: &mut MessageReader) -> Option<ServerJsonRpcMessage> {
        let is_json = body.trim_ascii_start().first().is_some_and(|first| b"{[".contains(first));
        let messages = if is_json {
            reader.read(body)
        } else {
            let mut events = SseParser::new(self.max_message);
            events.feed(body);
            events.end();
            let events = std::iter::from_fn(|| events.next()).filter(SseEvent::is_message);
            events.filter_map(|event| event.data).flat_map(|data| reader.read(&data)).collect()
        };
        messages.into_iter().find(is_answer)
    }
}

/// Returns `true` for a request that servers refuse to those they do not know, though they may list
/// what there is to anybody.
fn is_use(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::CallToolRequest(_)
            | ClientRequest::GetPromptRequest(_)
            | ClientRequest::ReadResourceRequest(_)
    )
}

impl StreamableHttpClient for HttpTransport {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Error> {
        let in_session = session.is_some();
        if in_session && *self.lost.lock() == session {
            // Unsent, so that it can be sent in another session.
            return Err(StreamableHttpError::SessionExpired);
        }
        if let ClientJsonRpcMessage::Request(request) = &message {
            self.notifications.link.handshake(&request.id, &request.request);
            if matches!(request.request, ClientRequest::InitializeRequest(_)) {
                *self.lost.lock() = None;
            }
        }
        let body = serde_json::to_vec(&message)?;
        self.notifications.frame(FrameDirection::Sent, &body);
        let mut headers = headers(custom, session.as_deref())?;
        let opening = headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let ClientJsonRpcMessage::Request(request) = &message {
            self.stream.until_ready(&request.request, in_session).await;
        }
        let sent = self.send(self.client.post(&*uri).body(body), headers, token.clone()).await;
        let response = match sent {
            // Older servers know nobody whose session is lost. In another one, it is seen whether
            // they demand authorization.
            Err(StreamableHttpError::AuthRequired(demand))
                if in_session
                    && demand.www_authenticate_header.is_empty()
                    && !self.is_refused.swap(true, Ordering::Relaxed) =>
            {
                return Err(StreamableHttpError::SessionExpired);
            }
            sent => sent?,
        };
        let is_of = |is: fn(&ClientRequest) -> bool| match &message {
            ClientJsonRpcMessage::Request(request) => is(&request.request),
            _ => false,
        };
        if response.status().is_success() && is_of(is_use) {
            self.is_refused.store(false, Ordering::Relaxed);
        }
        if !response.status().is_success() {
            let refusal = HttpRefusal::of(response).await;
            let is_call = is_of(|request| matches!(request, ClientRequest::CallToolRequest(_)));
            let lost = in_session
                .then(|| lost_session::error_of(refusal.status, &refusal.body, is_call))
                .flatten();
            if let Some(lost) = lost {
                *self.lost.lock() = session;
                return Err(lost);
            }
            let ClientJsonRpcMessage::Request(request) = message else {
                return Err(self.refused(refusal).0);
            };
            let is_first = matches!(request.request, ClientRequest::InitializeRequest(_));
            if is_first
                && !in_session
                && foreign::may_be_old(refusal.status)
                && self.is_old(&uri, opening, token).await
            {
                return Err(unexpected(OLD_TRANSPORT));
            }
            let is_probe = matches!(request.request, ClientRequest::DiscoverRequest(_));
            return self.answer_in_refusal(refusal, request.id, is_probe && !in_session);
        }
        let ClientJsonRpcMessage::Request(request) = message else {
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        self.read_answer(response, request, in_session).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Error> {
        let headers = headers(custom, Some(&*session))?;
        let response = self.send(self.client.delete(&*uri), headers, token).await?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => {
                Err(StreamableHttpError::ServerDoesNotSupportDeleteSession)
            }
            status if status.is_success() => Ok(()),
            _ => Err(self.refused(HttpRefusal::of(response).await).0),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Error> {
        let mut headers = headers(custom, session.as_deref())?;
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = &last {
            let last = HeaderValue::from_bytes(last.as_bytes());
            headers.insert("last-event-id", last.map_err(|_| unexpected("an event's id is none"))?);
        }
        match self.reopened.pause(last.as_deref()) {
            Some(pause) => tokio::time::sleep(pause).await,
            // The only error after which rmcp asks no more.
            None => return Err(StreamableHttpError::ServerDoesNotSupportSse),
        }
        self.reopened.opened(last.as_deref());
        let response = self.send(self.client.get(&*uri), headers, token).await;
        self.stream.answered();
        let response = response?;
        match (response.status(), kind(&response)) {
            (StatusCode::METHOD_NOT_ALLOWED, _) => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            (status, _) if !status.is_success() => {
                Err(self.refused(HttpRefusal::of(response).await).0)
            }
            (_, BodyKind::Events) => {
                let reader = last.as_deref().and_then(|last| self.unpark(last));
                let reader = reader.unwrap_or_else(|| self.reader());
                let events = EventStream::new(self.clone(), response, reader, last.clone()).boxed();
                let (reopened, mut last) = (Arc::clone(&self.reopened), last);
                Ok(Box::pin(events.inspect(move |event| {
                    if let Ok(event) = event {
                        reopened.heard(last.as_deref(), event.id.as_deref());
                        last = event.id.clone().or_else(|| last.take());
                    }
                })))
            }
            (_, BodyKind::Json | BodyKind::Page) => Err(unexpected("its stream of events is none")),
            (_, BodyKind::Other(kind)) => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }
}

/// Returns the headers of rmcp and the configuration.
fn headers(
    custom: HashMap<HeaderName, HeaderValue>,
    session: Option<&str>,
) -> Result<HeaderMap, Error> {
    let mut headers: HeaderMap = custom.into_iter().collect();
    if let Some(session) = session {
        let session = HeaderValue::from_str(session);
        headers
            .insert("mcp-session-id", session.map_err(|_| unexpected("its session's id is none"))?);
    }
    Ok(headers)
}

enum BodyKind {
    Events,
    Json,
    Page,
    Other(Option<String>),
}

fn kind(response: &Response) -> BodyKind {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    let essence = kind.as_deref().and_then(|kind| kind.split(';').next()).unwrap_or("").trim();
    if essence.eq_ignore_ascii_case("text/event-stream") {
        BodyKind::Events
    } else if essence.eq_ignore_ascii_case("application/json") {
        BodyKind::Json
    } else if foreign::is_html(response.headers().get(CONTENT_TYPE), b"") {
        BodyKind::Page
    } else {
        BodyKind::Other(kind)
    }
}

fn unexpected(what: impl Into<Cow<'static, str>>) -> Error {
    StreamableHttpError::UnexpectedServerResponse(what.into())
}
