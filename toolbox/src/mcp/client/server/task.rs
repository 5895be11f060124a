//! Calls that a server answers with a task: the client polls it until it ends.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::{CalledTool, Server};
use crate::call::{Arguments, FailureKind, ToolResult};
use crate::context::ToolContext;
use crate::mcp::client::answer::{self, ServerAnswer};
use crate::mcp::client::connection::refused;
use crate::mcp::client::connection_error::ConnectionError;
use crate::mcp::client::envelope::error_of;
use crate::mcp::client::questions::{CallRounds, InputRequired};
use crate::mcp::client::server_request::{ServerRequest, TaskRequest};
use crate::mcp::client::text;
use crate::text::cut;
use crate::tool::Tool;

/// The interval between two requests of a server that names none.
const INTERVAL: Duration = Duration::from_secs(1);

/// The shortest interval between two requests.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

/// The longest interval between two requests.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);

/// The time after which a task is given up that its server keeps for longer, or for ever.
const LONGEST_TASK: Duration = Duration::from_secs(24 * 60 * 60);

/// The time that cancelling a task may take.
const CANCELLATION: Duration = Duration::from_secs(5);

/// The maximum length of the id of a task, in bytes.
const MAX_ID: usize = 1024;

/// The maximum length of a message, in bytes.
const MAX_MESSAGE: usize = 1000;

/// The state of a task, as its server describes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawTask<'a> {
    task_id: String,
    status: TaskStatus,
    #[serde(default)]
    status_message: Option<String>,
    #[serde(default)]
    ttl_ms: Option<f64>,
    #[serde(default)]
    poll_interval_ms: Option<f64>,
    #[serde(default)]
    input_requests: Map<String, Value>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum TaskStatus {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

/// A task that a server has begun in place of a result.
#[derive(Clone)]
pub(super) struct ServerTask {
    id: String,
    message: Option<String>,
    interval: Duration,
    /// The time for which the server keeps it.
    ttl: Duration,
}

impl ServerTask {
    /// Reads the answer that begins a task.
    pub(super) fn begun(raw: &str) -> Result<Self, String> {
        let task: RawTask<'_> = serde_json::from_str(raw).map_err(|error| error.to_string())?;
        if task.task_id.is_empty() || task.task_id.len() > MAX_ID {
            return Err(format!("the id of a task has between 1 and {MAX_ID} bytes"));
        }
        let ttl = task.ttl_ms.and_then(milliseconds).unwrap_or(LONGEST_TASK).min(LONGEST_TASK);
        Ok(Self {
            message: task.message(),
            interval: task.interval().unwrap_or(INTERVAL),
            id: task.task_id,
            ttl,
        })
    }

    fn request(&self) -> TaskRequest<'_> {
        TaskRequest::Get { id: &self.id }
    }
}

impl RawTask<'_> {
    fn message(&self) -> Option<String> {
        let message = self.status_message.as_deref().filter(|message| !message.is_empty())?;
        Some(text::clean(cut(message, MAX_MESSAGE)).into_owned())
    }

    fn interval(&self) -> Option<Duration> {
        let interval = milliseconds(self.poll_interval_ms?)?;
        Some(interval.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL))
    }
}

fn milliseconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number / 1000.0).ok()
}

impl Server {
    /// Waits for the end of a task. Where the caller takes the completions of background tools, the
    /// call is answered at once and the wait goes on in the background.
    pub(super) async fn finish_task(
        self: &Arc<Self>,
        tool: &Arc<CalledTool>,
        task: ServerTask,
        context: &ToolContext,
    ) -> ToolResult {
        if context.completions().is_none() {
            return self.follow(tool, &task, context).await;
        }
        let ttl = task.ttl;
        let (server, called) = (Arc::clone(self), Arc::clone(tool));
        let wait = move |context: ToolContext, _: Arguments| {
            let (server, called, task) = (Arc::clone(&server), Arc::clone(&called), task.clone());
            async move { server.follow(&called, &task, &context).await }
        };
        let schema = serde_json::json!({ "type": "object" });
        let wait = Tool::raw(context.tool_name(), "Waits for a task.", schema, wait);
        let wait = wait.background().with_timeout(ttl);
        let wait = if self.config.trusted { wait } else { wait.untrusted() };
        self.shared.toolbox.go_on(context, wait)
    }

    /// Polls a task until it ends, and returns its result. Cancels the task if it is dropped.
    async fn follow(
        self: &Arc<Self>,
        tool: &CalledTool,
        task: &ServerTask,
        context: &ToolContext,
    ) -> ToolResult {
        let mut abandoned = AbandonedTask::new(self, task);
        let ended = self.task_end(task, context).await;
        abandoned.is_over = !matches!(ended, TaskEnd::GivenUp(_));
        match ended {
            TaskEnd::Answered(result) | TaskEnd::GivenUp(result) => {
                self.concluded(tool, context, Ok(result)).await
            }
            TaskEnd::Failed(error) => self.concluded(tool, context, Err(error)).await,
        }
    }

    async fn task_end(self: &Arc<Self>, task: &ServerTask, context: &ToolContext) -> TaskEnd {
        let tool = context.tool_name();
        let expiry = Instant::now() + task.ttl;
        let (mut interval, mut failures, mut reports) = (task.interval, 0_u32, 0_u32);
        let (mut rounds, mut asked) = (CallRounds::default(), HashSet::new());
        let mut message = None;
        report(task.message.clone(), &mut message, &mut reports, context);
        loop {
            // A connection that fails is tried again, less and less often.
            sleep(interval.saturating_mul(1 << failures.min(6)).min(LONGEST_INTERVAL)).await;
            if Instant::now() >= expiry {
                let text = format!("tool `{tool}` has no result: its task expired at the server");
                return TaskEnd::GivenUp(ToolResult::failure(FailureKind::TimedOut, text));
            }
            let raw = match self.ask_of_task(task.request(), context).await {
                Ok(raw) => raw,
                Err(ConnectionError::Lost(_)) if !self.gone.is_cancelled() => {
                    failures = failures.saturating_add(1);
                    continue;
                }
                Err(error) => return TaskEnd::Failed(error),
            };
            failures = 0;
            let state: RawTask<'_> = match serde_json::from_str(&raw) {
                Ok(state) => state,
                Err(error) => {
                    return TaskEnd::Failed(ConnectionError::Unread(error.to_string()));
                }
            };
            interval = state.interval().unwrap_or(interval);
            report(state.message(), &mut message, &mut reports, context);
            match state.status {
                TaskStatus::Working => {}
                TaskStatus::InputRequired => {
                    let mut required =
                        InputRequired { requests: state.input_requests, ..Default::default() };
                    // A server that has not read an answer yet asks the same again.
                    required.requests.retain(|key, _| !asked.contains(key));
                    if required.requests.is_empty() {
                        continue;
                    }
                    asked.extend(required.requests.keys().cloned());
                    let answers = rounds.answer(&self.name, &required, context).await;
                    let Some(responses) = answers.and_then(|answers| answers.responses) else {
                        return TaskEnd::GivenUp(answer::unanswered(tool, &required));
                    };
                    let request = TaskRequest::Update { id: &task.id, responses };
                    match self.ask_of_task(request, context).await {
                        Ok(_) => {}
                        Err(ConnectionError::Lost(_)) if !self.gone.is_cancelled() => {
                            // The answers may have been lost on their way.
                            asked.retain(|key| !required.requests.contains_key(key));
                        }
                        Err(error) => return TaskEnd::Failed(error),
                    }
                }
                TaskStatus::Completed => {
                    let raw = state.result.map_or(r#"{"content":[]}"#, RawValue::get);
                    let request = ServerRequest::Tool { name: tool, arguments: "" };
                    return match answer::read(request, tool, raw) {
                        ServerAnswer::Result(result) => TaskEnd::Answered(result),
                        ServerAnswer::InputRequired(_) | ServerAnswer::Task => {
                            let reason = "the result of a task is another request".to_owned();
                            TaskEnd::Failed(ConnectionError::Unread(reason))
                        }
                    };
                }
                TaskStatus::Failed => {
                    return TaskEnd::Failed(match state.error {
                        Some(error) => refused(error_of(error)),
                        None => ConnectionError::Unread("a failed task has no error".to_owned()),
                    });
                }
                TaskStatus::Cancelled => {
                    let text = format!("the server `{}` cancelled the task", self.name);
                    return TaskEnd::Answered(ToolResult::failure(FailureKind::Cancelled, text));
                }
            }
        }
    }

    /// Sends a request about a task, over a new connection if the last one was lost.
    async fn ask_of_task(
        self: &Arc<Self>,
        request: TaskRequest<'_>,
        context: &ToolContext,
    ) -> Result<String, ConnectionError> {
        let connection = self.connection_for_call().await.map_err(ConnectionError::Lost)?;
        connection.ask_of_task(request, context).await
    }
}

/// Reports a message as progress if it is a new one.
fn report(
    now: Option<String>,
    last: &mut Option<String>,
    reports: &mut u32,
    context: &ToolContext,
) {
    let Some(message) = now.filter(|now| last.as_ref() != Some(now)) else { return };
    *reports += 1;
    context.report_progress(f64::from(*reports), None, message.clone());
    *last = Some(message);
}

/// The end of a task.
enum TaskEnd {
    Answered(ToolResult),
    Failed(ConnectionError),
    /// The server still runs it, and its result is not waited for.
    GivenUp(ToolResult),
}

/// Cancels a task at its server when it is dropped before the task is over.
struct AbandonedTask {
    server: Arc<Server>,
    id: String,
    is_over: bool,
}

impl AbandonedTask {
    fn new(server: &Arc<Server>, task: &ServerTask) -> Self {
        Self { server: Arc::clone(server), id: task.id.clone(), is_over: false }
    }
}

impl Drop for AbandonedTask {
    fn drop(&mut self) {
        let (false, Ok(runtime)) = (self.is_over, Handle::try_current()) else { return };
        let (server, id) = (Arc::clone(&self.server), std::mem::take(&mut self.id));
        runtime.spawn(async move {
            let context = ToolContext::new();
            let cancel = server.ask_of_task(TaskRequest::Cancel { id: &id }, &context);
            if !matches!(tokio::time::timeout(CANCELLATION, cancel).await, Ok(Ok(_))) {
                tracing::debug!(server = &*server.name, "a task could not be cancelled");
            }
        });
    }
}
