//! `tools/call`: dispatches calls through the gate of the box.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::answer::{Answer, Reply};
use super::caller::MissingCapability;
use super::exchange::Exchange;
use super::gated::{GatedSubject, GivenInputs, admit};
use super::protocol::{self, ProtocolError, ProtocolVersion, RequestFrame, RequestId};
use super::result::{ResultFormat, failed, written};
use super::rounds::CallEnd;
use super::session::RequestScope;
use super::shared::ServiceShared;
use crate::call::{FailureKind, ToolCall, ToolResult};
use crate::context::ToolContext;
use crate::dispatch::Pass;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(default)]
    input_responses: Option<Map<String, Value>>,
    #[serde(borrow, default)]
    request_state: Option<Cow<'a, str>>,
}

/// Admits one call, and returns the future that makes it.
///
/// The arguments go to the gate as the client wrote them, whatever they are.
pub(super) fn call(
    exchange: Exchange<'_>,
    request: &RequestFrame<'_>,
    scope: RequestScope,
) -> Result<Reply, ProtocolError> {
    let CallParams { name, arguments, input_responses, request_state } = request.params()?;
    let arguments = arguments.map_or("{}", RawValue::get);
    if !arguments.starts_with('{') {
        return Err(ProtocolError::invalid_params(
            "the parameters of `tools/call` cannot be read: invalid type of `arguments`, expected a map",
        ));
    }
    let version = scope.version;
    let refuse = |text: &str| {
        let text = protocol::response(&request.id, &failed(text, version));
        Ok(Reply::Now(Answer::from(text)))
    };
    let inputs = GivenInputs { responses: input_responses, state: request_state };
    let subject = GatedSubject { name: &name, arguments, inputs };
    let shared = Arc::clone(exchange.shared);
    let run = |context: ToolContext| {
        let call = ToolCall::new(request.id.to_string(), name.clone(), arguments);
        run(shared, version, context, call)
    };
    admit(exchange, request, scope, subject, refuse, run)
}

/// Makes the call. A failure of the tool is a result; an error means that there is no such tool, or
/// that the client lacks a capability.
async fn run(
    shared: Arc<ServiceShared>,
    version: ProtocolVersion,
    context: ToolContext,
    call: ToolCall,
) -> CallEnd {
    let name = call.name.clone();
    let pass = Pass { hidden: shared.options.list_deferred, ..Pass::default() };
    let result = shared.toolbox.dispatch(Some(&context), call, pass).await;
    Box::new(move |id| ended(&shared, version, &name, &result, id))
}

/// Returns the answer to a call that has ended.
fn ended(
    shared: &ServiceShared,
    version: ProtocolVersion,
    name: &str,
    result: &ToolResult,
    id: &RequestId,
) -> Answer {
    if result.failure_kind() == Some(FailureKind::NotFound) && shared.listing().get(name).is_none()
    {
        let error = ProtocolError::invalid_params(result.text());
        return Answer::error(id, &error);
    }
    if version.is_modern()
        && let Some(error) = MissingCapability::in_source(result.source())
    {
        return Answer::error(id, &error);
    }
    let limit = shared.toolbox.shared.settings.result_bytes;
    // Looked up after the call: the output schema is withdrawn meanwhile if the result of a mounted
    // server does not match it.
    let tool = shared.toolbox.get(name);
    let output_schema = tool.as_ref().and_then(|tool| tool.definition().output_schema.as_deref());
    let format = ResultFormat { version, output_schema, limit };
    Answer::from(protocol::response(id, &written(result, format)))
}
