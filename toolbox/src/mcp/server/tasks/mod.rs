//! The extension for tasks: calls that are answered at once, and go on while their client asks for
//! them.

mod pending;
mod table;
mod task;
mod time;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{Answer, Reply};
use super::caller::MissingCapability;
use super::exchange::Exchange;
use super::protocol::{self, ProtocolError, RequestFrame};
use super::session::RequestScope;

pub(super) use pending::PendingTask;
pub(super) use table::{TaskSlot, Tasks};
pub(super) use task::{Task, TaskEnd};

/// The name of the extension among the capabilities.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskParams<'a> {
    #[serde(borrow)]
    task_id: Cow<'a, str>,
    #[serde(default)]
    input_responses: Option<Map<String, Value>>,
}

/// Answers `tasks/get`, `tasks/update` and `tasks/cancel`.
pub(super) fn respond(
    exchange: &Exchange<'_>,
    request: &RequestFrame<'_>,
    scope: &RequestScope,
) -> Result<Reply, ProtocolError> {
    if !scope.takes_tasks() {
        return Err(MissingCapability::of_tasks());
    }
    let TaskParams { task_id, input_responses } = request.params()?;
    // The same answer for an unknown task and for that of another principal.
    let task = exchange.shared.tasks.get(&task_id, exchange.peer.principal.as_ref());
    let task = task.ok_or_else(|| {
        ProtocolError::invalid_params("there is no such task: it is unknown, or has expired")
    })?;
    match &*request.method {
        "tasks/get" => return Ok(Reply::Now(task.detailed(&request.id))),
        "tasks/cancel" => task.cancel(),
        _ => task.update(input_responses.ok_or_else(|| {
            ProtocolError::invalid_params("`tasks/update` needs `inputResponses`, an object")
        })?),
    }
    let acknowledged = json!({ "resultType": "complete" });
    Ok(Reply::Now(Answer::from(protocol::response(&request.id, &acknowledged))))
}
