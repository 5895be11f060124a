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
use super::protocol::{self, ErrorCode, ProtocolError, ProtocolVersion, RequestFrame, RequestId};
use super::result::{CallAnswer, ResultFormat, failed, written};
use super::rounds::CallEnd;
use super::session::RequestScope;
use super::shared::ServiceShared;
use super::tasks::{PendingTask, TaskEnd, TaskSlot};
use crate::call::{FailureKind, ToolCall, ToolResult};
use crate::context::keeper::KEPT_RESULT_URI;
use crate::context::{ToolContext, UNUSED_CONTEXT};
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
    // Without a slot, the call is answered by its result.
    let principal = || exchange.peer.principal.clone();
    let slot = scope.takes_tasks().then(|| shared.tasks.reserve(principal())).flatten();
    let run = |context: ToolContext| {
        let call = ToolCall::new(request.id.to_string(), name.clone(), arguments);
        run(shared, version, context, call, slot)
    };
    admit(exchange, request, scope, subject, refuse, run)
}

/// Makes the call. A failure of the tool is a result; an error means that there is no such tool, or
/// that the client lacks a capability.
async fn run(
    shared: Arc<ServiceShared>,
    version: ProtocolVersion,
    mut context: ToolContext,
    call: ToolCall,
    slot: Option<TaskSlot>,
) -> CallEnd {
    let tool = shared.toolbox.called(&call.name);
    let name = tool.map_or_else(|| call.name.clone(), |tool| tool.name().to_owned());
    let form = CallForm { shared, version, name };
    let mut pending = None;
    if let Some(slot) = slot {
        let (of_task, task) = PendingTask::attach(context, slot, form.shared.options.task_ttl);
        (context, pending) = (of_task, Some(task));
    }
    let pass = Pass { hidden: form.shared.options.list_deferred, ..Pass::default() };
    let result = form.shared.toolbox.dispatch(Some(&context), call, pass).await;
    drop(context);
    let task = pending.and_then(|task| task.started(&result));
    match task {
        Some(task) => {
            let task = task.follow(Box::new(move |result| form.end_of(result)));
            Box::new(move |id| task.created(id))
        }
        None => Box::new(move |id| form.answer(&result, id)),
    }
}

/// The form of the result of a call.
pub(super) struct CallForm {
    pub(super) shared: Arc<ServiceShared>,
    pub(super) version: ProtocolVersion,
    /// The name of the tool.
    pub(super) name: String,
}

impl CallForm {
    /// Returns the answer to a call that has ended.
    fn answer(&self, result: &ToolResult, id: &RequestId) -> Answer {
        match self.error(result) {
            Some(error) => Answer::error(id, &error),
            None => self.written(result, |answer| Answer::from(protocol::response(id, &answer))),
        }
    }

    /// Returns the end of a task. A failure of the tool is a result, a panic is not.
    pub(super) fn end_of(&self, result: &ToolResult) -> TaskEnd {
        match result.failure_kind() {
            Some(FailureKind::Cancelled) => TaskEnd::Cancelled,
            Some(FailureKind::Panicked) => {
                TaskEnd::Failed(ProtocolError::new(ErrorCode::InternalError, result.text()))
            }
            _ => match self.error(result) {
                Some(error) => TaskEnd::Failed(error),
                None => self.written(result, |answer| TaskEnd::completed(&answer)),
            },
        }
    }

    /// Returns the protocol error that stands for a result.
    fn error(&self, result: &ToolResult) -> Option<ProtocolError> {
        if result.failure_kind() == Some(FailureKind::NotFound) && !self.is_known() {
            return Some(ProtocolError::invalid_params(result.text()));
        }
        self.version.is_modern().then(|| MissingCapability::in_source(result.source())).flatten()
    }

    /// Returns `true` if there is a tool of the name for all clients. Of a tool that is not
    /// available to the client, it learns no more than of one that is not there.
    fn is_known(&self) -> bool {
        self.shared.toolbox.get(&self.name).is_none_or(|tool| !tool.is_conditional())
            && self.shared.listing(&UNUSED_CONTEXT).get(&self.name).is_some()
    }

    fn written<T>(&self, result: &ToolResult, write: impl FnOnce(CallAnswer<'_>) -> T) -> T {
        let toolbox = &self.shared.toolbox;
        // Looked up after the call: the output schema is withdrawn meanwhile if the result of a
        // mounted server does not match it.
        let tool = toolbox.called(&self.name);
        let output_schema =
            tool.as_ref().and_then(|tool| tool.definition().output_schema.as_deref());
        let links_results = result.handle().is_some()
            && self.version.has_structure()
            && toolbox.own_resources().is_some_and(|own| {
                own.get(KEPT_RESULT_URI).is_some() && !own.forbids(KEPT_RESULT_URI)
            });
        let version = self.version;
        write(written(result, ResultFormat { version, output_schema, links_results }))
    }
}
