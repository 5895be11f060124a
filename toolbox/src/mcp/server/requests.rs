//! Requests and their answers: one function for each method.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::protocol::{self, ErrorCode, ProtocolError, ProtocolVersion, RequestFrame, RequestId};
use super::running::ServiceActivity;
use super::session::{Handshake, Lifecycle, RequestScope};
use super::shared::ServiceShared;
use super::{call, changes};
use crate::context::{CancellationToken, Conversation, Principal};

/// The key in `_meta` of results for the name and version of the server.
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The sender of messages to one client.
pub(super) type Outlet = mpsc::Sender<Vec<u8>>;

/// A request, its client and the means to answer it.
pub(super) struct Exchange<'a> {
    pub(super) shared: &'a Arc<ServiceShared>,
    pub(super) running: &'a ServiceActivity,
    pub(super) lifecycle: &'a mut Lifecycle,
    pub(super) peer: &'a PeerIdentity,
    /// The outlet of notifications that belong to the request.
    pub(super) outlet: &'a Outlet,
    /// Cancelled when the answer is no longer wanted, or the service ends.
    pub(super) cancellation: CancellationToken,
}

/// The identity of a client, as far as its transport knows it.
#[derive(Default)]
pub(super) struct PeerIdentity {
    pub(super) principal: Option<Principal>,
    pub(super) conversation: Option<Conversation>,
}

/// The answer to a request, at once or later.
pub(super) enum Reply {
    Now(Answer),
    Later(Pin<Box<dyn Future<Output = Answer> + Send>>),
}

/// A whole answer: the message, and the kind of its error.
pub(super) struct Answer {
    pub(super) message: Vec<u8>,
    pub(super) error: Option<ErrorCode>,
}

impl Answer {
    pub(super) fn error(id: &RequestId, error: &ProtocolError) -> Self {
        Self { message: protocol::error_message(Some(id), error), error: Some(error.code) }
    }
}

impl From<Vec<u8>> for Answer {
    fn from(message: Vec<u8>) -> Self {
        Self { message, error: None }
    }
}

/// Answers a request.
pub(super) fn respond(exchange: Exchange<'_>, request: &RequestFrame<'_>) -> Reply {
    reply(exchange, request).unwrap_or_else(|error| Reply::Now(Answer::error(&request.id, &error)))
}

fn reply(exchange: Exchange<'_>, request: &RequestFrame<'_>) -> Result<Reply, ProtocolError> {
    let meta = request.meta()?;
    let shared = exchange.shared;
    let now =
        |result: &Value| Ok(Reply::Now(Answer::from(protocol::response(&request.id, result))));
    match (&*request.method, &*exchange.lifecycle) {
        ("initialize", _) => {
            let handshake = Handshake::read(request)?;
            let result = initialize_result(shared, handshake.version);
            *exchange.lifecycle = Lifecycle::Handshake(Arc::new(handshake));
            return now(&result);
        }
        // The one request that may come before the handshake.
        ("ping", Lifecycle::Unset) => return now(&json!({})),
        _ => {}
    }
    let scope = RequestScope::of(exchange.lifecycle, &request.method, meta)?;
    if request.method == "server/discover" {
        return now(&discover_result(shared));
    }
    if matches!(exchange.lifecycle, Lifecycle::Unset) {
        *exchange.lifecycle = Lifecycle::Stateless;
    }
    match &*request.method {
        "tools/list" => list_tools(shared, request, &scope),
        "tools/call" => call::call(exchange, request, scope),
        "subscriptions/listen" if !scope.is_legacy => changes::listen(&exchange, request),
        "ping" if scope.is_legacy => now(&json!({})),
        method => Err(ProtocolError::method_not_found(method)),
    }
}

fn list_tools(
    shared: &ServiceShared,
    request: &RequestFrame<'_>,
    scope: &RequestScope,
) -> Result<Reply, ProtocolError> {
    #[derive(Deserialize)]
    struct ListParams<'a> {
        #[serde(borrow)]
        cursor: Option<Cow<'a, str>>,
    }
    let ListParams { cursor } = request.params()?;
    let options = &shared.options;
    let more = if scope.version.is_modern() {
        let fresh = options.list_fresh_for.as_millis().min(u64::MAX.into());
        let who = if options.private_list { "private" } else { "public" };
        format!(r#","resultType":"complete","ttlMs":{fresh},"cacheScope":"{who}""#)
    } else {
        String::new()
    };
    let listing = shared.listing();
    let (version, cursor) = (scope.version, cursor.as_deref());
    let page = listing.page(&request.id, version, cursor, options.page_size, &more)?;
    Ok(Reply::Now(Answer::from(page)))
}

fn capabilities() -> Value {
    json!({ "tools": { "listChanged": true } })
}

pub(super) fn server_info(shared: &ServiceShared) -> Value {
    let options = &shared.options;
    let mut info = json!({ "name": options.info.name, "version": options.info.version });
    if let Some(title) = &options.title {
        info["title"] = title.as_str().into();
    }
    info
}

fn initialize_result(shared: &ServiceShared, version: ProtocolVersion) -> Value {
    let result = json!({
        "protocolVersion": version.as_str(),
        "capabilities": capabilities(),
        "serverInfo": server_info(shared),
    });
    with_instructions(result, shared)
}

fn discover_result(shared: &ServiceShared) -> Value {
    let result = json!({
        "resultType": "complete",
        "supportedVersions": ProtocolVersion::ALL.map(ProtocolVersion::as_str),
        "capabilities": capabilities(),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { SERVER_INFO: server_info(shared) },
    });
    with_instructions(result, shared)
}

fn with_instructions(mut result: Value, shared: &ServiceShared) -> Value {
    if let Some(instructions) = &shared.options.instructions {
        result["instructions"] = instructions.as_str().into();
    }
    result
}
