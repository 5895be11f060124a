//! The requests about tasks: `tasks/get`, `tasks/update` and `tasks/cancel`.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::answer::{Answer, Reply};
use super::super::call::CallForm;
use super::super::caller::MissingCapability;
use super::super::exchange::Exchange;
use super::super::protocol::{self, ProtocolError, ProtocolVersion, RequestFrame, RequestId};
use super::super::session::RequestScope;
use super::super::shared::ServiceShared;
use super::task::ServedTask;
use crate::call::JobId;
use crate::context::Principal;
use crate::context::recorder::CallRecorder;

/// The name of the extension among the capabilities.
pub(in crate::mcp::server) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskParams<'a> {
    #[serde(borrow)]
    task_id: Cow<'a, str>,
    #[serde(default)]
    input_responses: Option<Map<String, Value>>,
}

/// A request about a task.
enum TaskRequest {
    Get,
    Update(Map<String, Value>),
    Cancel,
}

/// Answers `tasks/get`, `tasks/update` and `tasks/cancel`.
pub(in crate::mcp::server) fn respond(
    exchange: &Exchange<'_>,
    request: &RequestFrame<'_>,
    scope: &RequestScope,
) -> Result<Reply, ProtocolError> {
    if !scope.takes_tasks() {
        return Err(MissingCapability::of_tasks());
    }
    let TaskParams { task_id, input_responses } = request.params()?;
    let asked = match &*request.method {
        "tasks/get" => TaskRequest::Get,
        "tasks/cancel" => TaskRequest::Cancel,
        _ => TaskRequest::Update(input_responses.ok_or_else(|| {
            ProtocolError::invalid_params("`tasks/update` needs `inputResponses`, an object")
        })?),
    };
    let (shared, principal) = (exchange.shared, &exchange.peer.principal);
    if let Some(task) = shared.tasks.get(&task_id, principal.as_ref()) {
        return Ok(Reply::Now(answer(&task, asked, &request.id)));
    }
    let Some(journal) = shared.toolbox.shared.settings.journal.clone() else {
        return Err(unknown());
    };
    let kept = KeptTask { shared: Arc::clone(shared), version: scope.version, journal };
    let (id, job, principal) = (request.id.clone(), JobId::from_text(task_id), principal.clone());
    Ok(Reply::Later(Box::pin(async move {
        match kept.find(job, principal.as_ref()).await {
            Some(task) => {
                if matches!(asked, TaskRequest::Cancel) {
                    kept.journal.cancel(JobId::from_text(&*task.id)).await;
                }
                answer(&task, asked, &id)
            }
            None => Answer::error(&id, &unknown()),
        }
    })))
}

fn answer(task: &ServedTask, asked: TaskRequest, id: &RequestId) -> Answer {
    match asked {
        TaskRequest::Get => return task.detailed(id),
        TaskRequest::Update(answers) => task.update(answers),
        TaskRequest::Cancel => task.cancel(),
    }
    Answer::from(protocol::response(id, &json!({ "resultType": "complete" })))
}

/// Returns the error for an unknown task, which is also that for one of another principal.
fn unknown() -> ProtocolError {
    ProtocolError::invalid_params("there is no such task: it is unknown, or has expired")
}

/// The look-up of tasks that another process of this server created, or this one before it ended.
struct KeptTask {
    shared: Arc<ServiceShared>,
    version: ProtocolVersion,
    journal: Arc<dyn CallRecorder>,
}

impl KeptTask {
    /// Returns the task of a principal by the record of its call.
    async fn find(&self, id: JobId, principal: Option<&Principal>) -> Option<ServedTask> {
        let call = self.journal.find(id.clone()).await?;
        let ttl = self.shared.options.task_ttl;
        let is_expired = call.accepted.elapsed().is_ok_and(|age| age >= ttl);
        if is_expired || call.principal.as_ref() != principal {
            return None;
        }
        let form =
            CallForm { shared: Arc::clone(&self.shared), version: self.version, name: call.tool };
        let end = call.end.map(|(time, result)| (time, form.end_of(&result)));
        Some(ServedTask::kept(id.as_str(), principal.cloned(), (call.accepted, ttl), end))
    }
}
