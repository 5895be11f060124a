//! Requests and their answers: one function for each method.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, Reply};
use super::caller::ClientClaims;
use super::exchange::{Exchange, PeerIdentity};
use super::log_level::LogLevel;
use super::pages::{ListParams, PageRequest};
use super::protocol::{self, ProtocolError, ProtocolVersion, RequestFrame, RequestMeta};
use super::session::{Handshake, Lifecycle, RequestScope, unknown_level};
use super::shared::{SERVER_INFO, ServiceShared};
use super::{call, changes, completion, operation, prompts, resources, skills, tasks};
use crate::mcp::apps::APPS;
use crate::mcp::telemetry::is_wanted;

/// Answers a request, whose `_meta` is read already.
pub(super) fn respond(
    exchange: Exchange<'_>,
    request: &RequestFrame<'_>,
    meta: RequestMeta,
) -> Reply {
    if !is_wanted(exchange.shared.reporter.as_ref()) {
        return answered(exchange, request, meta);
    }
    let Exchange { shared, peer, lifecycle, .. } = &exchange;
    let operation = operation::begin(shared, peer, lifecycle, request, &meta);
    operation::answered(operation, &request.method, || answered(exchange, request, meta))
}

fn answered(exchange: Exchange<'_>, request: &RequestFrame<'_>, meta: RequestMeta) -> Reply {
    reply(exchange, request, meta)
        .unwrap_or_else(|error| Reply::Now(Answer::error(&request.id, &error)))
}

fn reply(
    exchange: Exchange<'_>,
    request: &RequestFrame<'_>,
    meta: RequestMeta,
) -> Result<Reply, ProtocolError> {
    let shared = exchange.shared;
    let now =
        |result: &Value| Ok(Reply::Now(Answer::from(protocol::response(&request.id, result))));
    match (&*request.method, &*exchange.lifecycle) {
        ("initialize", _) => {
            let handshake = Handshake::read(request)?;
            let answer = greeting(shared, request, &handshake, exchange.peer.session());
            *exchange.lifecycle = Lifecycle::Handshake(Arc::new(handshake));
            return Ok(Reply::Now(answer));
        }
        // The one request that may come before the handshake.
        ("ping", Lifecycle::Unset) => return now(&json!({})),
        _ => {}
    }
    let scope = RequestScope::of(exchange.lifecycle, &request.method, meta)?;
    if request.method == "server/discover" {
        return now(&discover_result(shared, &scope.client, exchange.peer.session()));
    }
    if matches!(exchange.lifecycle, Lifecycle::Unset) {
        *exchange.lifecycle = Lifecycle::Stateless;
    }
    match &*request.method {
        "tools/list" => list_tools(shared, request, &scope, exchange.peer),
        "tools/call" => call::call(exchange, request, scope),
        "prompts/list" => prompts::list(shared, request, &scope),
        "prompts/get" => prompts::get(exchange, request, scope),
        "resources/list" | "resources/templates/list" => resources::list(shared, request, &scope),
        "resources/read" => resources::read(exchange, request, scope),
        "resources/subscribe" | "resources/unsubscribe" if scope.is_legacy => {
            resources::subscribe(shared, exchange.lifecycle, request, &scope)
        }
        "completion/complete" => completion::complete(exchange, request, scope),
        "subscriptions/listen" if scope.version.is_modern() => {
            changes::listen(&exchange, request, &scope)
        }
        "skills/list" | "skills/get" if scope.version.is_modern() => {
            skills::respond(exchange, request, scope)
        }
        "tasks/get" | "tasks/update" | "tasks/cancel" if scope.version.is_modern() => {
            tasks::respond(&exchange, request, &scope)
        }
        "ping" if scope.is_legacy => now(&json!({})),
        "logging/setLevel" if scope.is_legacy => {
            set_log_level(exchange.lifecycle, request)?;
            now(&json!({}))
        }
        method => Err(ProtocolError::method_not_found(method)),
    }
}

/// Returns the answer to the handshake of a client, in a session of this id if there is one.
pub(super) fn greeting(
    shared: &ServiceShared,
    request: &RequestFrame<'_>,
    handshake: &Handshake,
    session: Option<&str>,
) -> Answer {
    let result = json!({
        "protocolVersion": handshake.version.as_str(),
        "capabilities": capabilities(shared, &handshake.client),
        "serverInfo": shared.server_info(),
    });
    let result = with_instructions(result, shared, session);
    Answer::from(protocol::response(&request.id, &result))
}

fn list_tools(
    shared: &ServiceShared,
    request: &RequestFrame<'_>,
    scope: &RequestScope,
    peer: &PeerIdentity,
) -> Result<Reply, ProtocolError> {
    let ListParams { cursor } = request.params()?;
    let page = PageRequest {
        id: &request.id,
        version: scope.version,
        cursor: cursor.as_deref(),
        size: shared.options.page_size,
        more: &shared.list_members(scope.version),
    };
    let listing = shared.listing_for(scope.client.has_apps(), &peer.context());
    Ok(Reply::Now(Answer::from(listing.page(&page)?)))
}

/// Sets the least level of log messages that a client with a handshake wants.
fn set_log_level(lifecycle: &Lifecycle, request: &RequestFrame<'_>) -> Result<(), ProtocolError> {
    #[derive(Deserialize)]
    struct LevelParams {
        level: Value,
    }
    let LevelParams { level } = request.params()?;
    let level = LogLevel::read(&level).ok_or_else(unknown_level)?;
    if let Lifecycle::Handshake(handshake) = lifecycle {
        *handshake.log_level.lock() = level;
    }
    Ok(())
}

/// Returns the capabilities: prompts and resources once the box has any, pages of apps if the
/// client displays them.
fn capabilities(shared: &ServiceShared, client: &ClientClaims) -> Value {
    let mut all = json!({ "logging": {}, "tools": { "listChanged": true } });
    if shared.toolbox.own_prompts().is_some() {
        all["prompts"] = json!({ "listChanged": true });
    }
    if shared.toolbox.own_resources().is_some() {
        all["resources"] = json!({ "subscribe": true, "listChanged": true });
    }
    if completion::is_supported(shared) {
        all["completions"] = json!({});
    }
    if client.has_apps() {
        all["extensions"][APPS] = json!({});
    }
    all
}

fn discover_result(shared: &ServiceShared, client: &ClientClaims, session: Option<&str>) -> Value {
    let mut capabilities = capabilities(shared, client);
    capabilities["extensions"][tasks::EXTENSION] = json!({});
    if skills::is_supported(shared) {
        capabilities["extensions"][skills::EXTENSION] = json!({});
    }
    let result = json!({
        "resultType": "complete",
        "supportedVersions": ProtocolVersion::ALL.map(ProtocolVersion::as_str),
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { SERVER_INFO: shared.server_info() },
    });
    with_instructions(result, shared, session)
}

fn with_instructions(mut result: Value, shared: &ServiceShared, session: Option<&str>) -> Value {
    if let Some(instructions) = &shared.options.instructions {
        result["instructions"] = instructions(session).into();
    }
    result
}
