//! The telemetry of requests to one server.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{ClientRequest, RequestId};
use serde_json::Value;

use super::connection_error::ConnectionError;
use crate::context::TraceContext;
use crate::context::trace::is_traceparent;
use crate::event::{McpSide, Reporter};
use crate::mcp::config::ServerEndpoint;
use crate::mcp::telemetry::{
    Network, Operation, Outcome, Request, SessionTimer, Target, is_wanted,
};
use crate::sync::Mutex;

/// The sinks and the facts for the telemetry of requests over one connection.
#[derive(Default)]
pub(super) struct ServerLink {
    reporter: Option<Arc<Reporter>>,
    transport: Option<&'static str>,
    address: Option<String>,
    port: Option<u16>,
    /// The id that the server gave the session, over HTTP.
    session: Mutex<Option<String>>,
    /// The request of the handshake that has no answer yet.
    handshake: Mutex<Operation>,
}

impl ServerLink {
    pub(super) fn new(reporter: Option<Arc<Reporter>>, endpoint: &ServerEndpoint) -> Self {
        let (network, url) = match endpoint {
            ServerEndpoint::Command { .. } => (Network::PIPE, None),
            ServerEndpoint::Url { url, .. } => (Network::HTTP, reqwest::Url::parse(url).ok()),
        };
        Self {
            reporter,
            transport: network.transport,
            address: url.as_ref().and_then(|url| url.host_str().map(str::to_owned)),
            port: url.as_ref().and_then(reqwest::Url::port_or_known_default),
            ..Self::default()
        }
    }

    /// Returns `true` if somebody listens to requests.
    pub(super) fn is_wanted(&self) -> bool {
        is_wanted(self.reporter.as_ref())
    }

    fn network(&self) -> Network<'_> {
        Network { transport: self.transport, address: self.address.as_deref(), port: self.port }
    }

    /// Begins a request to the server. `joins_call` is `true` for the first one of a call.
    pub(super) fn begin(
        &self,
        request: &ClientRequest,
        version: Option<&str>,
        joins_call: bool,
    ) -> Operation {
        if !self.is_wanted() {
            return Operation::default();
        }
        let session = self.session.lock().clone();
        let request = Request {
            side: McpSide::Client,
            method: request.method(),
            id: None,
            target: target(request),
            version,
            session: session.as_deref(),
            network: self.network(),
            trace: None,
            joins_call: joins_call && matches!(request, ClientRequest::CallToolRequest(_)),
        };
        Operation::begin(self.reporter.as_ref(), &request)
    }

    /// Begins a request of the server, which this program answers.
    pub(super) fn begin_asked(&self, method: &str, id: &RequestId, params: &Value) -> Operation {
        if !self.is_wanted() {
            return Operation::default();
        }
        let session = self.session.lock().clone();
        let request = Request {
            side: McpSide::Server,
            method,
            id: Some(id.to_string()),
            target: Target::None,
            version: None,
            session: session.as_deref(),
            network: Network { address: None, port: None, ..self.network() },
            trace: trace_of(params),
            joins_call: false,
        };
        Operation::begin(self.reporter.as_ref(), &request)
    }

    /// Begins a request of the handshake, before it is sent. One that went before was refused.
    pub(super) fn handshake(&self, id: &RequestId, request: &ClientRequest) {
        if matches!(
            request,
            ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_)
        ) {
            let operation = self.begin(request, None, false);
            operation.sent_as(id);
            let before = std::mem::replace(&mut *self.handshake.lock(), operation);
            before.end(|| Outcome::failed("_OTHER"));
        }
    }

    /// Ends the handshake, with the version of the protocol that was agreed on.
    pub(super) fn handshake_ended(&self, version: Option<&str>, outcome: impl FnOnce() -> Outcome) {
        let mut operation = std::mem::take(&mut *self.handshake.lock());
        if let Some(version) = version {
            operation.agree_on(version);
        }
        operation.end(outcome);
    }

    /// Records the id of the session, if an answer names one.
    pub(super) fn in_session(&self, id: Option<&str>) {
        if let Some(id) = id
            && self.is_wanted()
        {
            *self.session.lock() = Some(id.to_owned());
        }
    }

    /// Begins the session of a handshake.
    pub(super) fn session(&self, version: Option<&str>) -> SessionTimer {
        SessionTimer::begin(self.reporter.as_ref(), McpSide::Client, version, self.network())
    }
}

/// Returns the outcome of a request that failed.
pub(super) fn outcome_of(error: &ConnectionError) -> Outcome {
    match error {
        ConnectionError::Refused { code, message, .. } => Outcome::refused(*code, message),
        ConnectionError::Unread(_) => Outcome::failed("invalid_answer"),
        ConnectionError::Unauthorized { .. } => Outcome::failed("unauthorized"),
        ConnectionError::SessionLost => Outcome::failed("session_lost"),
        ConnectionError::Silent(_) => Outcome::failed("timeout"),
        ConnectionError::Lost(_) | ConnectionError::TimedOut(_) => {
            Outcome::failed("connection_lost")
        }
    }
}

fn target(request: &ClientRequest) -> Target<'_> {
    match request {
        ClientRequest::CallToolRequest(call) => Target::Tool(&call.params.name),
        ClientRequest::GetPromptRequest(get) => Target::Prompt(&get.params.name),
        ClientRequest::ReadResourceRequest(read) => Target::Resource(&read.params.uri),
        ClientRequest::SubscribeRequest(subscribe) => Target::Resource(&subscribe.params.uri),
        ClientRequest::UnsubscribeRequest(unsubscribe) => Target::Resource(&unsubscribe.params.uri),
        _ => Target::None,
    }
}

/// Returns the trace context in the parameters of a request of the server.
fn trace_of(params: &Value) -> Option<TraceContext> {
    let text = |key: &str| params.get("_meta")?.get(key)?.as_str().map(Cow::Borrowed);
    let traceparent = text("traceparent").filter(|text| is_traceparent(text))?.into_owned();
    let tracestate = text("tracestate").filter(|text| text.len() <= 512).map(Cow::into_owned);
    Some(TraceContext { traceparent, tracestate, baggage: None })
}
