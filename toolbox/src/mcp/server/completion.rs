//! `completion/complete`.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

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
struct CompleteParams<'a> {
    #[serde(borrow)]
    r#ref: CompletionReference<'a>,
    argument: Argument,
    #[serde(default)]
    context: Given,
}

/// The prompt or the template whose argument is completed.
#[derive(Deserialize)]
struct CompletionReference<'a> {
    r#type: ReferenceKind,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
}

#[derive(Deserialize)]
enum ReferenceKind {
    #[serde(rename = "ref/prompt")]
    Prompt,
    #[serde(rename = "ref/resource")]
    Resource,
}

impl CompletionReference<'_> {
    /// Returns the name of the prompt, or the URI of the template.
    fn key(&self) -> Result<String, serde_json::Error> {
        let (field, value) = match self.r#type {
            ReferenceKind::Prompt => ("name", self.name),
            ReferenceKind::Resource => ("uri", self.uri),
        };
        let value = value.ok_or_else(|| serde_json::Error::missing_field(field))?;
        serde_json::from_str(value.get())
    }
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CompletionResult<'a> {
    completion: &'a Suggestions,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
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
    let CompleteParams { r#ref, argument, context: given } = request.params()?;
    let key = r#ref.key();
    let key = key.map_err(|error| ProtocolError::unreadable_params(&request.method, &error))?;
    let reference = (r#ref.r#type, key);
    let toolbox = exchange.shared.toolbox.clone();
    let version = scope.version;
    // Nothing asks a client while it completes.
    let inputs = GivenInputs { responses: None, state: None };
    let subject = GatedSubject { name: "", arguments: "", inputs };
    let run = |context: ToolContext| async move {
        let suggestions = suggested(&toolbox, &context, reference, argument, given).await;
        let end = move |id: &RequestId| match suggestions {
            Ok(suggestions) => {
                let result_type = version.is_modern().then_some("complete");
                let result = CompletionResult { completion: &suggestions, result_type };
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
    (kind, key): (ReferenceKind, String),
    Argument { name, value }: Argument,
    Given { arguments }: Given,
) -> Result<Suggestions, ToolError> {
    let unknown =
        |what: &str| ToolError::of_kind(FailureKind::NotFound, format!("there is no {what}"));
    match kind {
        ReferenceKind::Prompt => {
            let prompts = toolbox.own_prompts().ok_or_else(|| unknown("such prompt"))?;
            prompts.complete(context, &key, &name, &value, arguments).await
        }
        ReferenceKind::Resource => {
            let resources = toolbox.own_resources().ok_or_else(|| unknown("such resource"))?;
            resources.complete(context, &key, &name, &value, arguments).await
        }
    }
}
