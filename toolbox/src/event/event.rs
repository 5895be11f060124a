//! Events of calls and of runs of agents.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fields::{by_text, milliseconds, path, unix_milliseconds};
use super::request::{McpRequest, McpSession};
use super::stop::StopReason;
use crate::call::{Arguments, Content, JobId, Repair, ToolResult};
use crate::context::{Conversation, OutputItem, Progress};
use crate::cost::{Cost, Money};
use crate::model::{Delta, Finish, History, ModelErrorKind, PrefixChanged, Usage};

/// The most characters of a result that an event shows.
const PREVIEW: usize = 200;

/// Something that happened in a call, or in a run of an agent.
///
/// Serializes as one JSON object: the fields of this type, `type` with the name of the kind in
/// lower case (`tool_started`), and the fields of the kind beside them. It reads back what it
/// wrote.
///
/// ```
/// use toolbox::event::{Event, EventKind};
///
/// let line = r#"{"sequence":7,"time_ms":1790000000000,"path":[],"step":0,
///     "type":"tool_started","call_id":"c1","tool":"add","arguments":"{}"}"#;
/// let event: Event = serde_json::from_str(line)?;
/// assert_eq!(event.call_id(), Some("c1"));
/// assert!(matches!(event.kind, EventKind::ToolStarted { .. }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// The position of the event among all of the process: unique, and it grows in the order in
    /// which events are reported. A sink gets some of them, so its numbers have gaps.
    pub sequence: u64,
    /// The time by the clock of the system, in whole milliseconds. That clock may be set back.
    #[serde(rename = "time_ms", with = "unix_milliseconds")]
    pub time: SystemTime,
    /// The principal of the call or the run; `None` if the program named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The conversation of the call or the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// The id of the distributed trace, 32 hexadecimal digits, where the call came with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The id of the run of the outermost agent; `None` for a call that no agent made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The id of the call that made this call, or that started the agent of this event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<String>,
    /// The line of the script of that call at which the call of this event stands, from 1; `None`
    /// if no script makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The names of the agents from the one that was started down to the one this happened in;
    /// empty for a call that no agent made.
    #[serde(with = "path")]
    pub path: Arc<[String]>,
    /// The step of that agent, from one; zero before its first, and without an agent.
    pub step: u32,
    /// The event itself.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// Returns how many agents are above the one this happened in.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.path.len().saturating_sub(1)
    }

    /// Returns the id of the call that the event is about.
    #[must_use]
    pub fn call_id(&self) -> Option<&str> {
        Some(match &self.kind {
            EventKind::ToolStarted { call_id, .. }
            | EventKind::ScriptStarted { call_id, .. }
            | EventKind::ToolRefused { call_id, .. }
            | EventKind::ApprovalRequested { call_id, .. }
            | EventKind::ApprovalDecided { call_id, .. }
            | EventKind::ApprovalDeferred { call_id, .. }
            | EventKind::QuestionAsked { call_id, .. }
            | EventKind::QuestionAnswered { call_id, .. }
            | EventKind::JobCompleted { call_id, .. } => call_id,
            EventKind::ToolFinished(end) | EventKind::JobFinished(end) => &end.call_id,
            EventKind::ToolProgress(progress) => &progress.call_id,
            EventKind::ToolOutput(item) => &item.call_id,
            _ => return None,
        })
    }

    /// Takes out what only a sink that asks for content gets.
    pub(super) fn without_content(mut self) -> Self {
        match &mut self.kind {
            EventKind::ToolFinished(end) | EventKind::JobFinished(end) => end.text = None,
            EventKind::MessagesRemoved { removed, summary, .. } => {
                *removed = History::new();
                *summary = None;
            }
            EventKind::ToolOutput(item) => item.content.clear(),
            EventKind::ScriptStarted { script, .. } => script.clear(),
            EventKind::QuestionAnswered { value, .. } => *value = None,
            _ => {}
        }
        self
    }

    /// Returns `true` if the event is nothing but content.
    pub(super) fn is_content(&self) -> bool {
        matches!(self.kind, EventKind::Delta(_))
    }

    /// Returns `true` if the event is of a protocol, not of a call or a run.
    pub(super) fn is_request(&self) -> bool {
        matches!(self.kind, EventKind::McpRequest(_) | EventKind::McpSession(_))
    }
}

/// Returns the next position of an event.
pub(super) fn next_sequence() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The kinds of events.
///
/// A call has one [`ToolFinished`](Self::ToolFinished), and before it a
/// [`ToolStarted`](Self::ToolStarted) if its tool ran. Arguments are those that the model wrote,
/// with `"***"` in place of values that the schema of the tool marks as secret (`writeOnly`,
/// `format: password`). A call that carries another is shown by the schema of the tool that it
/// names; where there is no schema, no argument is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A request is sent to the model.
    ModelStarted {
        /// The name of the model, as its service knows it.
        model: String,
        /// The name of the service.
        provider: String,
    },
    /// The next request does not go on where the one before it in the run ended, so what the
    /// service has cached of that one is lost from a byte on. Comes before
    /// [`ModelStarted`](Self::ModelStarted).
    PrefixChanged(PrefixChanged),
    /// The model writes; only from models that stream, and for sinks that ask for content.
    Delta(Delta),
    /// The model replied.
    ModelFinished {
        /// The name of the model that replied, as the service names it in its reply, else as it was
        /// asked for.
        model: String,
        /// The name of the model that was asked.
        requested: String,
        /// The name of the service.
        provider: String,
        /// Why it stopped.
        finish: Finish,
        /// The tokens that the request used.
        usage: Usage,
        /// The cost of those tokens; `None` for a model without a price.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Money>,
        /// The number of calls in the reply.
        calls: usize,
        /// The time that the request took.
        #[serde(rename = "duration_ms", with = "milliseconds")]
        took: Duration,
    },
    /// The model gave no reply.
    ModelFailed {
        /// The name of the model.
        model: String,
        /// The name of the service.
        provider: String,
        /// The kind of the error.
        kind: ModelErrorKind,
        /// The time that the request took.
        #[serde(rename = "duration_ms", with = "milliseconds")]
        took: Duration,
    },
    /// A run is charged for tokens beside those of its replies: of a summary, of a reply that a
    /// guard blocked, of agents in other processes.
    Charged {
        /// The name of the model; empty where it is not known here.
        model: String,
        /// The name of the service; empty where it is not known here.
        provider: String,
        /// The tokens.
        usage: Usage,
        /// The cost of those tokens.
        cost: Cost,
    },
    /// A tool is about to run: the call may be made, its arguments are valid, it has its permits.
    ToolStarted {
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// The arguments of the call.
        #[serde(with = "by_text")]
        arguments: Arguments,
    },
    /// A tool runs a script that is not among the arguments of its call
    /// ([`ToolContext::report_script`](crate::ToolContext::report_script)).
    ScriptStarted {
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// The text of the script, for sinks that ask for content.
        script: String,
    },
    /// A tool reports its progress.
    ToolProgress(Progress),
    /// A tool that streams puts out an item.
    ToolOutput(OutputItem),
    /// A call was refused before its tool ran: the tool is unknown or forbidden, the arguments do
    /// not fit, the batch is too large. Its [`ToolFinished`](Self::ToolFinished) follows.
    ToolRefused {
        /// The id of the call.
        call_id: String,
        /// The tool; a name that is not in the box is cut to a few words.
        tool: String,
        /// The stable code of the refusal.
        code: Cow<'static, str>,
        /// The arguments of the call; `None` where the tool is unknown, or they are too large.
        #[serde(default, with = "by_text", skip_serializing_if = "Option::is_none")]
        arguments: Option<Arguments>,
    },
    /// A call has its result. One that goes on in the background has its own later:
    /// [`JobFinished`](Self::JobFinished).
    ToolFinished(ToolFinished),
    /// A background job has its result.
    JobFinished(ToolFinished),
    /// The approver is asked if a tool may run.
    ApprovalRequested {
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// The arguments of the call.
        #[serde(with = "by_text")]
        arguments: Arguments,
    },
    /// There is a decision on a call.
    ApprovalDecided {
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// The name of who decided: that of the approver
        /// ([`Approver::name`](crate::context::Approver::name)), or `resumed` for a decision with
        /// which a paused run went on.
        by: String,
        /// The decision.
        decision: DecisionKind,
        /// The reason of a denial; the arguments in place of the model's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// A call waits for a decision that the approver has not made yet.
    ApprovalDeferred {
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
    },
    /// A person is asked.
    QuestionAsked {
        /// The id of the call.
        call_id: String,
        /// The tool, or the MCP server, that asks.
        origin: String,
        /// The name of the question within its call; empty if it has none.
        key: String,
        /// The text of the question.
        message: String,
    },
    /// A question has its answer.
    QuestionAnswered {
        /// The id of the call.
        call_id: String,
        /// The tool, or the MCP server, that asked.
        origin: String,
        /// The name of the question within its call; empty if it has none.
        key: String,
        /// The kind of the answer.
        answer: AnswerStatus,
        /// The answer itself, for sinks that ask for content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
    },
    /// The model makes the same call again and again; the result says so.
    Repeated {
        /// The tool.
        tool: String,
        /// The number of times, with this one.
        times: u32,
    },
    /// The model gets the report of a background job that ended.
    JobCompleted {
        /// The job.
        job: JobId,
        /// The id of the call that started it.
        call_id: String,
        /// Its tool.
        tool: String,
        /// `true` if it failed.
        is_error: bool,
    },
    /// The program edited the transcript (`ContextRule::edit`).
    HistoryEdited {
        /// The tokens of the next request before.
        before: usize,
        /// The tokens of the next request after.
        after: usize,
    },
    /// Old results were replaced by references (`ContextRule::old_results`).
    ResultsShortened {
        /// The number of results.
        results: usize,
        /// The tokens of the next request before.
        before: usize,
        /// The tokens of the next request after.
        after: usize,
    },
    /// The oldest messages were taken out of the transcript (`ContextRule::drop_oldest`).
    MessagesRemoved {
        /// The messages, for sinks that ask for content.
        #[serde(default, with = "by_text", skip_serializing_if = "is_empty")]
        removed: History,
        /// The summary in their place, if there is one, for sinks that ask for content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// The handle of their text, in a box that keeps results.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handle: Option<String>,
        /// The tokens of the next request before.
        before: usize,
        /// The tokens of the next request after.
        after: usize,
    },
    /// There is no summary of messages that are taken out next (`ContextRule::summarize_oldest`).
    CompactionFailed {
        /// Why, for the programmer.
        message: String,
    },
    /// A message that came while the run worked entered the transcript.
    Steered,
    /// A guard ended the run.
    Blocked {
        /// The reason that it gave.
        reason: String,
    },
    /// The conversation was handed to another agent.
    HandedOver {
        /// The name of that agent.
        to: String,
    },
    /// The run of one agent ended without an outcome.
    Failed {
        /// The stable code of the error.
        code: Cow<'static, str>,
        /// Why, for the programmer.
        message: String,
        /// The tokens used, together with those of the agents below it.
        usage: Usage,
        /// The cost of those tokens.
        #[serde(default)]
        cost: Cost,
        /// The time since the run began.
        #[serde(rename = "duration_ms", with = "milliseconds")]
        took: Duration,
    },
    /// The run of one agent ended.
    Finished {
        /// Why.
        reason: StopReason,
        /// The tokens used, together with those of the agents below it.
        usage: Usage,
        /// The cost of those tokens.
        #[serde(default)]
        cost: Cost,
        /// The time since the run began.
        #[serde(rename = "duration_ms", with = "milliseconds")]
        took: Duration,
    },
    /// A request of the Model Context Protocol has its answer, or will have none; for sinks that
    /// ask for requests.
    McpRequest(McpRequest),
    /// A session of the Model Context Protocol ended; for sinks that ask for requests.
    McpSession(McpSession),
}

fn is_empty(history: &History) -> bool {
    history.messages().is_empty()
}

/// The kinds of decisions on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DecisionKind {
    /// The call may run.
    Approved,
    /// The call may not run.
    Denied,
    /// The call may run with other arguments.
    Edited,
    /// The call does not run, and has a result all the same.
    Answered,
    /// The decision is put off.
    Deferred,
}

/// The kinds of answers to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnswerStatus {
    /// The person answered.
    Accepted,
    /// The person does not want to answer.
    Declined,
    /// The question was closed without a decision.
    Dismissed,
    /// There was no person to ask.
    Nobody,
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolFinished {
    /// The id of the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The time the call took, waiting for a permit or a decision included; zero for a call that
    /// was refused.
    #[serde(rename = "duration_ms", with = "milliseconds")]
    pub took: Duration,
    /// The stable code of the failure, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Cow<'static, str>>,
    /// The data of the failure, if it gave any: see
    /// [`ToolResult::error_data`](crate::ToolResult::error_data).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_data: Option<Value>,
    /// The text for the user, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_text: Option<String>,
    /// The beginning of the result that the model gets, at most 200 characters.
    pub preview: String,
    /// The text of that result, for sinks that ask for content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The size of the result that the model gets, in bytes.
    pub bytes: usize,
    /// The job that the call is, if it goes on in the background or is kept in a journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// `true` if the call goes on in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
    /// The repairs of the arguments before the tool ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Repair>,
}

impl ToolFinished {
    pub(crate) fn new(name: &str, call_id: &str, result: &ToolResult, took: Duration) -> Self {
        let text = result.text();
        let preview = match text.char_indices().nth(PREVIEW) {
            Some((end, _)) => text[..end].to_owned(),
            None => text.clone().into_owned(),
        };
        Self {
            call_id: call_id.to_owned(),
            tool: name.to_owned(),
            took,
            code: result.code().map(Cow::Borrowed),
            error_data: result.error_data().cloned(),
            user_text: result.user_text().map(str::to_owned),
            preview,
            text: None,
            bytes: result.content().iter().map(Content::len).sum(),
            job: result.job().cloned(),
            pending: result.is_pending(),
            repairs: result.repairs().to_vec(),
        }
    }

    /// Returns whether the call failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.code.is_some()
    }
}
