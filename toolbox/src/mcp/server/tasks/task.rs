//! One task: its state, and the forms of it in the protocol.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::time::iso;
use crate::context::{CancellationToken, Principal};
use crate::mcp::server::answer::Answer;
use crate::mcp::server::protocol::{self, ErrorCode, ProtocolError, RequestId};
use crate::mcp::server::result::CallAnswer;
use crate::mcp::server::rounds::Rounds;
use crate::sync::Mutex;
use crate::text::{cut, json_value};

/// The time in milliseconds after which a client asks for a task again.
const POLL_INTERVAL: u64 = 500;

/// The maximum length of the message of a state, in bytes.
const MAX_MESSAGE: usize = 4096;

/// A call that was answered at once.
pub(in crate::mcp::server) struct ServedTask {
    pub(super) id: Arc<str>,
    pub(super) principal: Option<Principal>,
    pub(super) ttl: Duration,
    pub(super) created: SystemTime,
    pub(super) state: Arc<TaskState>,
    pub(super) rounds: Arc<Rounds>,
    pub(super) cancellation: CancellationToken,
}

/// The part of a task that changes.
#[derive(Default)]
pub(super) struct TaskState(Mutex<MutableState>);

#[derive(Default)]
struct MutableState {
    updated: Option<SystemTime>,
    message: Option<String>,
    end: Option<TaskEnd>,
}

/// The end of a task.
pub(in crate::mcp::server) enum TaskEnd {
    /// The call has a result, which may be a failure of the tool.
    Completed(Box<RawValue>),
    Failed(ProtocolError),
    Cancelled,
}

impl TaskEnd {
    pub(in crate::mcp::server) fn completed(answer: &CallAnswer<'_>) -> Self {
        to_raw_value(answer).map_or_else(
            |_| Self::Failed(ProtocolError::new(ErrorCode::InternalError, "the result is lost")),
            Self::Completed,
        )
    }
}

impl TaskState {
    /// Sets the message that a client may display.
    pub(super) fn set_message(&self, message: &str) {
        let mut inner = self.0.lock();
        if inner.end.is_none() {
            inner.message = Some(cut(message, MAX_MESSAGE).to_owned());
            inner.updated = Some(SystemTime::now());
        }
    }

    /// Marks a change that is not of this state.
    pub(super) fn touch(&self) {
        self.0.lock().updated = Some(SystemTime::now());
    }

    /// Ends the task.
    pub(super) fn end(&self, end: TaskEnd) {
        let mut inner = self.0.lock();
        inner.updated = Some(SystemTime::now());
        inner.message = match &end {
            TaskEnd::Failed(error) => Some(cut(error.message(), MAX_MESSAGE).to_owned()),
            TaskEnd::Completed(_) | TaskEnd::Cancelled => None,
        };
        inner.end = Some(end);
    }
}

/// A task in the form of the protocol.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    task_id: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<&'a str>,
    created_at: String,
    last_updated_at: String,
    ttl_ms: u64,
    poll_interval_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_requests: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ProtocolError>,
}

impl ServedTask {
    pub(in crate::mcp::server) fn id(&self) -> &str {
        &self.id
    }

    /// Returns a task by the record of its call.
    pub(super) fn kept(
        id: &str,
        principal: Option<Principal>,
        (created, ttl): (SystemTime, Duration),
        end: Option<(SystemTime, TaskEnd)>,
    ) -> Self {
        let (updated, end) = end.unzip();
        let state = MutableState { updated, message: None, end };
        Self {
            id: id.into(),
            principal,
            ttl,
            created,
            state: Arc::new(TaskState(Mutex::new(state))),
            rounds: Arc::default(),
            cancellation: CancellationToken::new(),
        }
    }

    /// Returns the answer to the call that became this task.
    pub(in crate::mcp::server) fn created(&self, id: &RequestId) -> Answer {
        self.view(Some("task"), |view| {
            // The rest is in the answer to `tasks/get`.
            let view = TaskView { input_requests: None, result: None, error: None, ..view };
            Answer::from(protocol::response(id, &view))
        })
    }

    /// Returns the answer to `tasks/get`.
    pub(super) fn detailed(&self, id: &RequestId) -> Answer {
        self.view(Some("complete"), |view| Answer::from(protocol::response(id, &view)))
    }

    /// Returns the parameters of a notification.
    pub(in crate::mcp::server) fn notification(&self) -> Value {
        self.view(None, |view| json_value(&view).unwrap_or_default())
    }

    /// Takes the answers of the client to what the call asks for. Others are ignored.
    pub(super) fn update(&self, answers: Map<String, Value>) {
        self.rounds.answer(answers);
    }

    /// Cancels the call, which ends as soon as its tool lets it.
    pub(super) fn cancel(&self) {
        self.cancellation.cancel();
    }

    fn view<T>(
        &self,
        result_type: Option<&'static str>,
        write: impl FnOnce(TaskView<'_>) -> T,
    ) -> T {
        let inner = self.state.0.lock();
        let open = if inner.end.is_none() { self.rounds.requests() } else { Map::new() };
        let (status, result, error) = match &inner.end {
            None if open.is_empty() => ("working", None, None),
            None => ("input_required", None, None),
            Some(TaskEnd::Completed(result)) => ("completed", Some(&**result), None),
            Some(TaskEnd::Failed(error)) => ("failed", None, Some(error)),
            Some(TaskEnd::Cancelled) => ("cancelled", None, None),
        };
        write(TaskView {
            result_type,
            task_id: &self.id,
            status,
            status_message: inner.message.as_deref(),
            created_at: iso(self.created),
            last_updated_at: iso(inner.updated.unwrap_or(self.created).max(self.created)),
            ttl_ms: u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX),
            poll_interval_ms: POLL_INTERVAL,
            input_requests: (!open.is_empty()).then_some(open),
            result,
            error,
        })
    }
}
