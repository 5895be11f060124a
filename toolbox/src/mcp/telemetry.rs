//! Spans and events of requests, by the OpenTelemetry conventions for the Model Context Protocol
//! (status: development, 2026-11).
//!
//! A request costs one load and one test where nobody listens: no span is enabled, and no sink of
//! the box [wants requests](crate::event::EventSink::with_requests).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tracing::Span;
use tracing::field::Empty;

use crate::collection::ToolBox;
use crate::context::TraceContext;
use crate::context::trace::{are_spans_on, attach_remote, is_linked};
use crate::event::{EventKind, McpPeer, McpRequest, McpSession, McpSide, Reporter};
use crate::text::{clean, cut};

/// The maximum length of a text of the other side within a span, in bytes.
const MAX_TEXT: usize = 256;

/// The failure of a request that nobody waits for any more.
const CANCELLED: &str = "cancelled";

/// The methods of the protocol. Any other is `_OTHER`, since each would be a time series.
const METHODS: [&str; 24] = [
    "completion/complete",
    "elicitation/create",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "roots/list",
    "sampling/createMessage",
    "server/discover",
    "skills/get",
    "skills/list",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/list",
    "tasks/update",
    "tools/call",
    "tools/list",
];

/// Returns the sinks of a box, if one wants the requests of protocols.
pub(super) fn reporter_of(toolbox: &ToolBox) -> Option<Arc<Reporter>> {
    let reporter = toolbox.shared.settings.reporter.as_ref();
    reporter.filter(|reporter| reporter.wants_requests()).map(Arc::clone)
}

/// Returns `true` if somebody listens to requests.
#[inline]
pub(super) fn is_wanted(reporter: Option<&Arc<Reporter>>) -> bool {
    reporter.is_some() || are_spans_on()
}

/// The facts about a connection that its requests share.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Network<'a> {
    /// `pipe` for standard streams, `tcp` for HTTP; `None` for other streams.
    pub(super) transport: Option<&'static str>,
    /// The host of the server, at its client.
    pub(super) address: Option<&'a str>,
    pub(super) port: Option<u16>,
}

impl Network<'_> {
    pub(super) const PIPE: Self = Self { transport: Some("pipe"), address: None, port: None };
    pub(super) const HTTP: Self = Self { transport: Some("tcp"), address: None, port: None };

    fn protocol(self) -> Option<&'static str> {
        (self.transport == Some("tcp")).then_some("http")
    }

    fn peer(self, side: McpSide, version: Option<&str>) -> McpPeer {
        let mut peer = McpPeer::new(side);
        peer.protocol_version = version.map(|version| Cow::Owned(version.to_owned()));
        peer.transport = self.transport.map(Cow::Borrowed);
        peer.server_address = self.address.map(str::to_owned);
        peer.server_port = self.port;
        peer
    }
}

/// The subject of a request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target<'a> {
    Tool(&'a str),
    Prompt(&'a str),
    Resource(&'a str),
    /// It has none, or one that is unknown.
    None,
}

impl<'a> Target<'a> {
    fn tool(self) -> Option<&'a str> {
        if let Self::Tool(name) = self { Some(name) } else { None }
    }

    fn prompt(self) -> Option<&'a str> {
        if let Self::Prompt(name) = self { Some(name) } else { None }
    }

    fn uri(self) -> Option<&'a str> {
        if let Self::Resource(uri) = self { Some(uri) } else { None }
    }
}

/// A request that begins.
pub(super) struct Request<'a> {
    pub(super) side: McpSide,
    pub(super) method: &'a str,
    /// The id, where it is known already.
    pub(super) id: Option<String>,
    pub(super) target: Target<'a>,
    pub(super) version: Option<&'a str>,
    pub(super) session: Option<&'a str>,
    pub(super) network: Network<'a>,
    /// The position in the trace of the sender, at the side that answers.
    pub(super) trace: Option<TraceContext>,
    /// `true` if the span of a call around it may stand for it.
    pub(super) joins_call: bool,
}

/// A request at work: its span, and its event once it ends. One that is dropped was cancelled.
#[derive(Default)]
pub(super) struct Operation(Option<Box<OpenOperation>>);

struct OpenOperation {
    span: Span,
    /// `true` if the span is that of the call, whose failure the gate records.
    is_of_call: bool,
    reporter: Option<Arc<Reporter>>,
    event: McpRequest,
    started: Instant,
}

/// The outcome of a request.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    /// The code and the message of the JSON-RPC error.
    pub(super) refusal: Option<(i32, String)>,
    /// The class of another failure.
    pub(super) failure: Option<&'static str>,
}

impl Outcome {
    pub(super) fn failed(failure: &'static str) -> Self {
        Self { refusal: None, failure: Some(failure) }
    }

    pub(super) fn refused(code: i32, message: &str) -> Self {
        Self { refusal: Some((code, message.to_owned())), failure: None }
    }

    /// Reads the outcome of a message that answers a request.
    pub(super) fn of_message(message: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct AnswerOutline<'a> {
            error: Option<ErrorOutline>,
            #[serde(borrow)]
            result: Option<&'a RawValue>,
        }
        #[derive(Deserialize)]
        struct ErrorOutline {
            code: i32,
            #[serde(default)]
            message: String,
        }
        let text = std::str::from_utf8(message).unwrap_or_default();
        match serde_json::from_str(text) {
            Ok(AnswerOutline { error: Some(error), .. }) => {
                Self { refusal: Some((error.code, error.message)), failure: None }
            }
            Ok(AnswerOutline { result: Some(result), .. }) => Self::of_json(result.get()),
            _ => Self::default(),
        }
    }

    /// Reads the outcome of the result of a call.
    pub(super) fn of_result(result: &str) -> Self {
        match serde_json::from_str::<IgnoredAny>(result) {
            Ok(_) => Self::of_json(result),
            Err(_) => Self::failed("invalid_answer"),
        }
    }

    /// Reads whether a result, which is JSON, is a failure; one of another form is none.
    fn of_json(result: &str) -> Self {
        #[derive(Deserialize)]
        struct ResultOutline {
            #[serde(rename = "isError", default)]
            is_error: bool,
        }
        match serde_json::from_str(result) {
            Ok(ResultOutline { is_error: true }) => Self::failed("tool_error"),
            _ => Self::default(),
        }
    }
}

impl Operation {
    /// Begins a request that is [wanted](is_wanted).
    pub(super) fn begin(reporter: Option<&Arc<Reporter>>, request: &Request<'_>) -> Self {
        Self(Some(Box::new(OpenOperation::new(request, reporter.cloned()))))
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the span of the request; a disabled one where nobody listens.
    pub(super) fn span(&self) -> Span {
        self.0.as_ref().map_or_else(Span::none, |open| open.span.clone())
    }

    /// Does work within the span of the request.
    pub(super) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(open) => open.span.in_scope(work),
            None => work(),
        }
    }

    /// Records the id under which the request was sent.
    pub(super) fn sent_as(&self, id: &dyn std::fmt::Display) {
        if let Some(open) = &self.0 {
            open.span.record("jsonrpc.request.id", tracing::field::display(id));
        }
    }

    /// Records the version of the protocol that a handshake agreed on.
    #[cfg(feature = "mcp-client")]
    pub(super) fn agree_on(&mut self, version: &str) {
        if let Some(open) = &mut self.0 {
            open.span.record("mcp.protocol.version", version);
            open.event.peer.protocol_version = Some(Cow::Owned(version.to_owned()));
        }
    }

    /// Ends the request.
    pub(super) fn end(mut self, outcome: impl FnOnce() -> Outcome) {
        if let Some(open) = self.0.take() {
            open.end(outcome());
        }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            // A client ends a subscription by going away.
            let is_over = open.event.method == "subscriptions/listen";
            open.end(if is_over { Outcome::default() } else { Outcome::failed(CANCELLED) });
        }
    }
}

impl OpenOperation {
    fn new(request: &Request<'_>, reporter: Option<Arc<Reporter>>) -> Self {
        let method = METHODS.into_iter().find(|known| *known == request.method);
        let method = method.unwrap_or("_OTHER");
        let peer = request.network.peer(request.side, request.version);
        let event = McpRequest {
            peer,
            method: Cow::Borrowed(method),
            tool: request.target.tool().map(str::to_owned),
            prompt: request.target.prompt().map(str::to_owned),
            status_code: None,
            error: None,
            took: std::time::Duration::ZERO,
        };
        let call = request.joins_call.then(Span::current).filter(is_span_of_call);
        let is_of_call = call.is_some();
        let span = match call {
            Some(span) => {
                record(&span, method, request);
                span
            }
            None if are_spans_on() => opened(method, request),
            None => Span::none(),
        };
        Self { span, is_of_call, reporter, event, started: Instant::now() }
    }

    fn end(mut self: Box<Self>, outcome: Outcome) {
        let Outcome { refusal, mut failure } = outcome;
        let mut number = None;
        if let Some((code, message)) = &refusal {
            self.event.status_code = Some(*code);
            let code_text = code.to_string();
            self.span.record("rpc.response.status_code", &*code_text);
            if self.event.peer.side == McpSide::Client || !blames_the_client(*code) {
                if !self.is_of_call {
                    self.span.record("error.type", &*code_text);
                    self.span.record("otel.status_code", "ERROR");
                    let message = clean(cut(message, MAX_TEXT));
                    self.span.record("otel.status_description", &*message);
                }
                number = Some(code_text);
                failure = None;
            }
        }
        if let Some(failure) = failure
            && !self.is_of_call
        {
            self.span.record("error.type", failure);
            self.span.record("otel.status_code", "ERROR");
        }
        let Some(reporter) = &self.reporter else { return };
        self.event.error = number.map(Cow::Owned).or(failure.map(Cow::Borrowed));
        self.event.took = self.started.elapsed();
        let event = self.event;
        reporter.emit(|| EventKind::McpRequest(event));
    }
}

/// Returns `true` for the error codes of requests that no server could answer.
fn blames_the_client(code: i32) -> bool {
    matches!(code, -32_700 | -32_600 | -32_601 | -32_602 | -32_002)
}

/// Returns `true` for the span of a call, which has the fields of a request as well.
fn is_span_of_call(span: &Span) -> bool {
    span.metadata().is_some_and(|metadata| {
        metadata.name() == "execute_tool" && metadata.fields().field("mcp.method.name").is_some()
    })
}

/// Records a request on the span of its call.
fn record(span: &Span, method: &'static str, request: &Request<'_>) {
    span.record("mcp.method.name", method);
    let texts = [
        ("mcp.protocol.version", request.version),
        ("mcp.session.id", request.session),
        ("network.transport", request.network.transport),
        ("network.protocol.name", request.network.protocol()),
        ("server.address", request.network.address),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            span.record(name, text);
        }
    }
    if let Some(port) = request.network.port {
        span.record("server.port", i64::from(port));
    }
}

/// Opens the span of a request. At the side that answers, it is below the span of the sender, and
/// linked to the one that is open here.
fn opened(method: &'static str, request: &Request<'_>) -> Span {
    let name = match request.target {
        Target::Tool(name) | Target::Prompt(name) => format!("{method} {name}"),
        Target::Resource(_) | Target::None => method.to_owned(),
    };
    let kind = if request.side == McpSide::Client { "client" } else { "server" };
    let remote = request.trace.as_ref().filter(|_| is_linked());
    let ambient = Span::current();
    let parent = if remote.is_some() { None } else { ambient.id() };
    let uri = request.target.uri().map(public_uri);
    let span = tracing::info_span!(
        parent: parent,
        "mcp_request",
        otel.name = name,
        otel.kind = kind,
        mcp.method.name = method,
        mcp.protocol.version = request.version,
        mcp.session.id = request.session,
        mcp.resource.uri = uri.as_deref(),
        jsonrpc.request.id = request.id.as_deref().map(|id| cut(id, MAX_TEXT)),
        gen_ai.operation.name = request.target.tool().map(|_| "execute_tool"),
        gen_ai.tool.name = request.target.tool(),
        gen_ai.prompt.name = request.target.prompt(),
        network.transport = request.network.transport,
        network.protocol.name = request.network.protocol(),
        server.address = request.network.address,
        server.port = request.network.port.map(i64::from),
        rpc.response.status_code = Empty,
        error.r#type = Empty,
        otel.status_code = Empty,
        otel.status_description = Empty,
    );
    if let Some(trace) = remote {
        attach_remote(&span, trace);
        if !ambient.is_none() {
            span.follows_from(&ambient);
        }
    }
    span
}

/// Returns a URI without the users and passwords that it may name, and without its query, all of
/// which may be secret. A gateway's URI has another one within it.
fn public_uri(uri: &str) -> String {
    let uri = cut(uri, 4 * MAX_TEXT);
    let uri = uri.find(['?', '#']).map_or(uri, |end| &uri[..end]);
    let mut parts = uri.split("://");
    let mut public = parts.next().unwrap_or_default().to_owned();
    for rest in parts {
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        public.extend(["://", host, path]);
    }
    clean(&public).into_owned()
}

/// A session at work; it is reported once, when it ends.
#[derive(Default)]
pub(super) struct SessionTimer(Option<Box<OpenSession>>);

struct OpenSession {
    reporter: Arc<Reporter>,
    event: McpSession,
    started: Instant,
}

impl SessionTimer {
    /// Begins a session, if a sink wants to hear of its end.
    pub(super) fn begin(
        reporter: Option<&Arc<Reporter>>,
        side: McpSide,
        version: Option<&str>,
        network: Network<'_>,
    ) -> Self {
        Self(reporter.map(|reporter| {
            let peer = network.peer(side, version);
            let event = McpSession { peer, error: None, took: std::time::Duration::ZERO };
            Box::new(OpenSession { reporter: Arc::clone(reporter), event, started: Instant::now() })
        }))
    }

    /// Ends the session; the first time decides how it ended.
    pub(super) fn end(&mut self, error: Option<&'static str>) {
        if let Some(open) = self.0.take() {
            let OpenSession { reporter, mut event, started } = *open;
            event.took = started.elapsed();
            event.error = error.map(Cow::Borrowed);
            reporter.emit(|| EventKind::McpSession(event));
        }
    }
}

impl Drop for SessionTimer {
    fn drop(&mut self) {
        self.end(None);
    }
}
