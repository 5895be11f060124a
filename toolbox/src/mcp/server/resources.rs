//! The methods of resources: lists, reading, and the subscriptions of clients with a handshake.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::answer::{Answer, Reply};
use super::exchange::Exchange;
use super::gated::{GatedSubject, GivenInputs, admit};
use super::pages::{ListParams, PageRequest};
use super::prompts::{error_of, refused};
use super::protocol::{self, ErrorCode, ProtocolError, ProtocolVersion, RequestFrame, RequestId};
use super::rounds::CallEnd;
use super::session::{Lifecycle, RequestScope};
use super::shared::ServiceShared;
use crate::call::{FailureKind, ResourceContents, ToolError};
use crate::collection::Resources;
use crate::context::ToolContext;
use crate::resource::{Resource, SKILL_SCHEME};
use crate::text::{QUOTED, quote};

/// Returns the resources of a service that ever had one.
pub(super) fn resources(shared: &ServiceShared, method: &str) -> Result<Resources, ProtocolError> {
    let resources = shared.toolbox.own_resources();
    resources.ok_or_else(|| ProtocolError::method_not_found(method))
}

/// Answers `resources/list` and `resources/templates/list`.
pub(super) fn list(
    shared: &ServiceShared,
    request: &RequestFrame<'_>,
    scope: &RequestScope,
) -> Result<Reply, ProtocolError> {
    let resources = resources(shared, &request.method)?;
    let ListParams { cursor } = request.params()?;
    let (listing, member) = match &*request.method {
        "resources/list" => (shared.offers.resources(&resources), "resources"),
        _ => (shared.offers.templates(&resources), "resourceTemplates"),
    };
    let page = PageRequest {
        id: &request.id,
        version: scope.version,
        cursor: cursor.as_deref(),
        size: shared.options.page_size,
        more: &shared.list_members(scope.version),
    };
    let page = listing.page(&page, member)?;
    Ok(Reply::Now(Answer::from(page)))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadParams<'a> {
    #[serde(borrow)]
    uri: Cow<'a, str>,
    #[serde(default)]
    input_responses: Option<Map<String, Value>>,
    #[serde(borrow, default)]
    request_state: Option<Cow<'a, str>>,
}

/// The result of `resources/read`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReadAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    contents: &'a [ResourceContents],
    #[serde(flatten)]
    cache: Option<CacheHint>,
}

/// The time for which a client may keep a result, and whether users may share it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CacheHint {
    ttl_ms: u64,
    cache_scope: &'static str,
}

/// Admits one `resources/read`.
pub(super) fn read(
    exchange: Exchange<'_>,
    request: &RequestFrame<'_>,
    scope: RequestScope,
) -> Result<Reply, ProtocolError> {
    let resources = resources(exchange.shared, &request.method)?;
    let ReadParams { uri, input_responses, request_state } = request.params()?;
    let inputs = GivenInputs { responses: input_responses, state: request_state };
    let subject = GatedSubject { name: &uri, arguments: "", inputs };
    let (version, private) = (scope.version, exchange.shared.options.private_list);
    let shared = Arc::clone(exchange.shared);
    let run = |context: ToolContext| {
        let uri = uri.clone().into_owned();
        async move {
            // It may have come since the folder was read.
            if uri.starts_with(SKILL_SCHEME) && resources.find(&uri).is_none() {
                shared.refresh_skills(&resources).await;
            }
            let read = resources.read_in(&context, &uri).await;
            let cache = version.is_modern().then(|| cache_hint(&resources, &uri, private));
            let end = move |id: &RequestId| match read {
                Ok(contents) => {
                    let result_type = version.is_modern().then_some("complete");
                    let result = ReadAnswer { result_type, contents: &contents, cache };
                    Answer::from(protocol::response(id, &result))
                }
                Err(error) => Answer::error(id, &read_error(&error, version, &uri)),
            };
            Box::new(end) as CallEnd
        }
    };
    admit(exchange, request, scope, subject, refused, run)
}

fn cache_hint(resources: &Resources, uri: &str, private: bool) -> CacheHint {
    let resource = resources.find(uri).map(|(resource, _)| resource);
    let fresh_for = resource.as_ref().map_or_else(Default::default, Resource::fresh_for);
    let is_public = !private && resource.is_some_and(|resource| resource.is_public());
    CacheHint {
        ttl_ms: fresh_for.as_millis().try_into().unwrap_or(u64::MAX),
        cache_scope: cache_scope(is_public),
    }
}

/// Returns the word for results that users may share, or may not.
pub(super) fn cache_scope(is_public: bool) -> &'static str {
    if is_public { "public" } else { "private" }
}

/// Returns the error of reading. A forbidden resource is one that does not exist.
fn read_error(error: &ToolError, version: ProtocolVersion, uri: &str) -> ProtocolError {
    match error.kind() {
        FailureKind::NotFound | FailureKind::Blacklisted => not_found(version, uri),
        _ => error_of(error, version),
    }
}

fn not_found(version: ProtocolVersion, uri: &str) -> ProtocolError {
    let code =
        if version.is_modern() { ErrorCode::InvalidParams } else { ErrorCode::ResourceNotFound };
    let message = format!("there is no resource `{}`", quote(uri, QUOTED));
    ProtocolError::new(code, message).with_data(json!({ "uri": uri }))
}

/// Answers `resources/subscribe` and `resources/unsubscribe`.
pub(super) fn subscribe(
    shared: &ServiceShared,
    lifecycle: &Lifecycle,
    request: &RequestFrame<'_>,
    scope: &RequestScope,
) -> Result<Reply, ProtocolError> {
    let resources = resources(shared, &request.method)?;
    let ReadParams { uri, .. } = request.params()?;
    if let Lifecycle::Handshake(handshake) = lifecycle {
        if request.method == "resources/unsubscribe" {
            handshake.subscribed.remove(&uri);
        } else if resources.find(&uri).is_none() || resources.forbids(&uri) {
            return Err(not_found(scope.version, &uri));
        } else if !handshake.subscribed.insert(&uri, &resources) {
            let text = "too many resources are subscribed to: unsubscribe from one first";
            return Err(ProtocolError::new(ErrorCode::InternalError, text));
        }
    }
    Ok(Reply::Now(Answer::from(protocol::response(&request.id, &json!({})))))
}
