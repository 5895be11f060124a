//! The telemetry of requests of clients.

use std::borrow::Cow;

use serde::Deserialize;
use tracing::Instrument;

use super::answer::{Answer, Reply};
use super::caller::trace_of;
use super::exchange::PeerIdentity;
use super::protocol::{ProtocolVersion, RequestFrame, RequestMeta};
use super::session::Lifecycle;
use super::shared::ServiceShared;
use crate::event::McpSide;
use crate::mcp::telemetry::{Operation, Outcome, Request, Target, is_wanted};

/// The parameters that name the subject of a request.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct SubjectParams<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uri: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    protocol_version: Option<Cow<'a, str>>,
}

/// Begins a request of a client in a state of its connection.
pub(super) fn begin(
    shared: &ServiceShared,
    peer: &PeerIdentity,
    lifecycle: &Lifecycle,
    request: &RequestFrame<'_>,
    meta: &RequestMeta,
) -> Operation {
    let reporter = shared.reporter.as_ref();
    if !is_wanted(reporter) {
        return Operation::default();
    }
    let params = request.params::<SubjectParams<'_>>().unwrap_or_default();
    let (name, uri) = (params.name.as_deref(), params.uri.as_deref());
    let version = match (&*request.method, lifecycle) {
        ("initialize", _) => {
            let wanted = params.protocol_version.as_deref();
            wanted.map(|wanted| ProtocolVersion::negotiated(wanted).as_str())
        }
        (_, Lifecycle::Handshake(own)) => version_of(meta).or(Some(own.version.as_str())),
        _ => version_of(meta),
    };
    let request = Request {
        side: McpSide::Server,
        method: &request.method,
        id: Some(request.id.to_string()),
        target: target(shared, &request.method, name, uri),
        version,
        session: peer.session(),
        network: peer.network,
        trace: trace_of(meta),
        joins_call: false,
    };
    Operation::begin(reporter, &request)
}

fn version_of(meta: &RequestMeta) -> Option<&'static str> {
    meta.protocol_version().and_then(ProtocolVersion::parse).map(ProtocolVersion::as_str)
}

/// Returns the subject of a request. A tool or a prompt that is not there is none: its name is what
/// a client made up.
fn target<'a>(
    shared: &ServiceShared,
    method: &str,
    name: Option<&'a str>,
    uri: Option<&'a str>,
) -> Target<'a> {
    match (method, name, uri) {
        ("tools/call", Some(name), _) if shared.toolbox.has(name) => Target::Tool(name),
        ("prompts/get", Some(name), _)
            if shared.toolbox.own_prompts().is_some_and(|own| own.find(name).is_some()) =>
        {
            Target::Prompt(name)
        }
        ("resources/read" | "resources/subscribe" | "resources/unsubscribe", _, Some(uri)) => {
            Target::Resource(uri)
        }
        _ => Target::None,
    }
}

/// Answers a request within its operation.
pub(super) fn answered(
    operation: Operation,
    method: &str,
    answer: impl FnOnce() -> Reply,
) -> Reply {
    let is_call = method == "tools/call";
    match operation.within(answer) {
        Reply::Now(answer) => {
            operation.end(|| outcome(&answer, is_call));
            Reply::Now(answer)
        }
        Reply::Later(work) => {
            let work = work.instrument(operation.span());
            Reply::Later(Box::pin(async move {
                let answer = work.await;
                operation.end(|| outcome(&answer, is_call));
                answer
            }))
        }
    }
}

/// Returns the outcome of a request by its answer.
fn outcome(answer: &Answer, is_call: bool) -> Outcome {
    if answer.error.is_some() || is_call {
        Outcome::of_message(&answer.message)
    } else {
        Outcome::default()
    }
}
