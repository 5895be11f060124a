//! `completion/complete`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, Reply};
use super::exchange::Exchange;
use super::gated::{GatedSubject, GivenInputs, admit};
use super::prompts::{error_of, refused};
use super::protocol::{self, ProtocolError, RequestFrame, RequestId};
use super::rounds::CallEnd;
use super::session::RequestScope;
use super::shared::ServiceShared;
use crate::call::{FailureKind, ToolError};
use crate::collection::ToolBox;
use crate::context::ToolContext;
use crate::tool::Suggestions;

#[derive(Deserialize)]
struct CompleteParams {
    r#ref: CompletionReference,
    argument: Argument,
    #[serde(default)]
    context: Given,
}

/// The prompt or the template whose argument is completed.
#[derive(Deserialize)]
#[serde(tag = "type")]
enum CompletionReference {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

#[derive(Deserialize)]
struct Argument {
    name: String,
    value: String,
}

#[derive(Deserialize, Default)]
struct Given {
    #[serde(default)]
    arguments: BTreeMap<String, String>,
}

/// Returns whether a service has anything to complete arguments of.
pub(super) fn is_supported(shared: &ServiceShared) -> bool {
    shared.toolbox.own_prompts().is_some() || shared.toolbox.own_resources().is_some()
}

/// Admits one request.
pub(super) fn complete(
    exchange: Exchange<'_>,
    request: &RequestFrame<'_>,
    scope: RequestScope,
) -> Result<Reply, ProtocolError> {
    if !is_supported(exchange.shared) {
        return Err(ProtocolError::method_not_found(&request.method));
    }
    let params: CompleteParams = request.params()?;
    let toolbox = exchange.shared.toolbox.clone();
    let version = scope.version;
    // Nothing asks a client while it completes.
    let inputs = GivenInputs { responses: None, state: None };
    let subject = GatedSubject { name: "", arguments: "", inputs };
    let run = |context: ToolContext| async move {
        let suggestions = suggested(&toolbox, &context, params).await;
        let end = move |id: &RequestId| match suggestions {
            Ok(suggestions) => {
                let mut result = json!({ "completion": suggestions });
                if version.is_modern() {
                    result["resultType"] = Value::from("complete");
                }
                Answer::from(protocol::response(id, &result))
            }
            Err(error) => Answer::error(id, &error_of(&error, version)),
        };
        Box::new(end) as CallEnd
    };
    admit(exchange, request, scope, subject, refused, run)
}

async fn suggested(
    toolbox: &ToolBox,
    context: &ToolContext,
    params: CompleteParams,
) -> Result<Suggestions, ToolError> {
    let CompleteParams { r#ref, argument: Argument { name, value }, context: given } = params;
    let unknown =
        |what: &str| ToolError::of_kind(FailureKind::NotFound, format!("there is no {what}"));
    match r#ref {
        CompletionReference::Prompt { name: prompt } => {
            let prompts = toolbox.own_prompts().ok_or_else(|| unknown("such prompt"))?;
            prompts.complete(context, &prompt, &name, &value, given.arguments).await
        }
        CompletionReference::Resource { uri } => {
            let resources = toolbox.own_resources().ok_or_else(|| unknown("such resource"))?;
            resources.complete(context, &uri, &name, &value, given.arguments).await
        }
    }
}
