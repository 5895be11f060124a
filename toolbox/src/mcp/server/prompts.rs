//! `prompts/list` and `prompts/get`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::answer::{Answer, Reply};
use super::caller::MissingCapability;
use super::exchange::Exchange;
use super::gated::{GatedSubject, GivenInputs, admit};
use super::pages::{ListParams, PageRequest};
use super::protocol::{
    self, ErrorCode, ProtocolError, ProtocolVersion, RequestFrame, RequestId, string,
};
use super::result::part;
use super::rounds::CallEnd;
use super::session::RequestScope;
use super::shared::ServiceShared;
use crate::call::{FailureKind, Role, ToolError};
use crate::collection::Prompts;
use crate::context::ToolContext;
use crate::prompt::RenderedPrompt;

/// Returns the prompts of a service that ever had one.
pub(super) fn prompts(shared: &ServiceShared, method: &str) -> Result<Prompts, ProtocolError> {
    let prompts = shared.toolbox.own_prompts();
    prompts.ok_or_else(|| ProtocolError::method_not_found(method))
}

pub(super) fn list(
    shared: &ServiceShared,
    request: &RequestFrame<'_>,
    scope: &RequestScope,
) -> Result<Reply, ProtocolError> {
    let prompts = prompts(shared, &request.method)?;
    let ListParams { cursor } = request.params()?;
    let listing = shared.offers.prompts(&prompts);
    let page = PageRequest {
        id: &request.id,
        version: scope.version,
        cursor: cursor.as_deref(),
        size: shared.options.page_size,
        more: &shared.list_members(scope.version),
    };
    let page = listing.page(&page, "prompts")?;
    Ok(Reply::Now(Answer::from(page)))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GetParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(default)]
    input_responses: Option<Map<String, Value>>,
    #[serde(borrow, default)]
    request_state: Option<Cow<'a, str>>,
}

/// Admits one `prompts/get`.
pub(super) fn get(
    exchange: Exchange<'_>,
    request: &RequestFrame<'_>,
    scope: RequestScope,
) -> Result<Reply, ProtocolError> {
    let prompts = prompts(exchange.shared, &request.method)?;
    let GetParams { name, arguments, input_responses, request_state } = request.params()?;
    let arguments = arguments.map_or("{}", RawValue::get);
    check_texts(arguments)?;
    let inputs = GivenInputs { responses: input_responses, state: request_state };
    let subject = GatedSubject { name: &name, arguments, inputs };
    let version = scope.version;
    let run = |context: ToolContext| {
        let (name, arguments) = (name.clone().into_owned(), arguments.to_owned());
        async move {
            let rendered = prompts.get_in(&context, &name, &*arguments).await;
            let end = move |id: &RequestId| match rendered {
                Ok(rendered) => Answer::from(protocol::response(id, &written(&rendered, version))),
                Err(error) => Answer::error(id, &error_of(&error, version)),
            };
            Box::new(end) as CallEnd
        }
    };
    admit(exchange, request, scope, subject, refused, run)
}

/// Checks that all arguments are texts, as the protocol requires.
fn check_texts(arguments: &str) -> Result<(), ProtocolError> {
    let invalid = |what: &str| ProtocolError::invalid_params(what.to_owned());
    let members: std::collections::HashMap<Cow<'_, str>, &RawValue> =
        serde_json::from_str(arguments).map_err(|_| invalid("`arguments` is not an object"))?;
    match members.values().find(|value| string(value.get()).is_none()) {
        Some(_) => Err(invalid("the arguments of a prompt are strings, and one is not")),
        None => Ok(()),
    }
}

/// Answers with the reason why a request was not carried out.
pub(super) fn refused(reason: &str) -> Result<Reply, ProtocolError> {
    Err(ProtocolError::new(ErrorCode::InternalError, reason))
}

/// Returns the error of a call of a prompt or a completer.
pub(super) fn error_of(error: &ToolError, version: ProtocolVersion) -> ProtocolError {
    if version.is_modern()
        && let Some(missing) = MissingCapability::in_source(error.shared_source())
    {
        return missing;
    }
    let code = match error.kind() {
        FailureKind::NotFound | FailureKind::Blacklisted | FailureKind::InvalidArguments => {
            ErrorCode::InvalidParams
        }
        _ => ErrorCode::InternalError,
    };
    let answer = ProtocolError::new(code, error.to_string());
    match error.data() {
        Some(data) => answer.with_data(data.clone()),
        None => answer,
    }
}

/// The result of `prompts/get`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GetAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    messages: Vec<WrittenMessage<'a>>,
}

#[derive(Serialize)]
struct WrittenMessage<'a> {
    role: Role,
    content: super::result::Block<'a>,
}

fn written(rendered: &RenderedPrompt, version: ProtocolVersion) -> GetAnswer<'_> {
    let messages = rendered.messages.iter();
    let messages = messages.map(|message| WrittenMessage {
        role: message.role,
        content: part(&message.content, version),
    });
    GetAnswer {
        result_type: version.is_modern().then_some("complete"),
        description: rendered.description.as_deref(),
        messages: messages.collect(),
    }
}
