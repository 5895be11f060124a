//! Events of a run, sent as they happen.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use super::outcome::StopReason;
use crate::call::{Arguments, JobId, ToolResult};
use crate::context::observer::CallObserver;
use crate::context::{Progress, ToolContext};
use crate::model::{Delta, Finish, History, ModelErrorKind, Usage};

/// Something that happened in a run, or in a run of an agent below it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The names of the agents from the one that was started down to the one this happened in.
    pub path: Arc<[String]>,
    /// The step of that agent, from one; zero before its first.
    pub step: u32,
    /// The event itself.
    pub kind: EventKind,
}

impl Event {
    /// Returns how many agents are above the one this happened in.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.path.len().saturating_sub(1)
    }
}

/// The kinds of events of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// A request is sent to the model.
    ModelStarted,
    /// The model writes; only from models that stream.
    Delta(Delta),
    /// The model replied.
    ModelFinished {
        /// Why it stopped.
        finish: Finish,
        /// The tokens that the request used.
        usage: Usage,
        /// The number of calls in the reply.
        calls: usize,
        /// The time that the request took.
        took: Duration,
    },
    /// The model gave no reply.
    ModelFailed {
        /// The kind of the error.
        kind: ModelErrorKind,
    },
    /// A tool is about to run.
    ToolStarted {
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// The arguments of the call.
        arguments: Arguments,
    },
    /// A tool reports its progress.
    ToolProgress(Progress),
    /// A call has its result.
    ToolFinished(ToolFinished),
    /// The model called a tool that may not be called, and the result says so.
    Blacklisted {
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
    },
    /// The approver is asked if a tool may run.
    ApprovalRequested {
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// The arguments of the call.
        arguments: Arguments,
    },
    /// A call waits for a decision that the approver has not made yet.
    ApprovalDeferred {
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
    },
    /// The model makes the same call again and again; the result says so.
    Repeated {
        /// The tool.
        tool: String,
        /// The number of times in a row.
        times: u32,
    },
    /// A background job ended, and the model gets a report.
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
    /// The program [edited](super::ContextRule::edit) the transcript.
    HistoryEdited {
        /// The tokens of the next request before.
        before: usize,
        /// The tokens of the next request after.
        after: usize,
    },
    /// Old results were replaced by [references](super::ContextRule::old_results).
    ResultsShortened {
        /// The number of results.
        results: usize,
        /// The tokens of the next request before.
        before: usize,
        /// The tokens of the next request after.
        after: usize,
    },
    /// The oldest messages were [taken out](super::ContextRule::drop_oldest) of the transcript.
    MessagesRemoved {
        /// The messages.
        removed: History,
        /// The summary in their place, if there is one.
        summary: Option<String>,
        /// The handle of their text, in a box that keeps results.
        handle: Option<String>,
        /// The tokens of the next request before.
        before: usize,
        /// The tokens of the next request after.
        after: usize,
    },
    /// There is no [summary](super::ContextRule::summarize_oldest) of messages that are taken out
    /// next.
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
        /// Why, for the programmer.
        message: String,
        /// The tokens used, together with those of the agents below it.
        usage: Usage,
    },
    /// The run of one agent ended.
    Finished {
        /// Why.
        reason: StopReason,
        /// The tokens used, together with those of the agents below it.
        usage: Usage,
    },
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolFinished {
    /// The id of the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The time the call took, waiting for a permit or a decision included; zero for a call that
    /// was refused.
    pub took: Duration,
    /// The stable code of the failure, if it failed.
    pub code: Option<&'static str>,
    /// The data of the failure, if it gave any: see
    /// [`ToolResult::error_data`](crate::ToolResult::error_data).
    pub error_data: Option<serde_json::Value>,
    /// The text for the user, if there is one.
    pub user_text: Option<String>,
    /// The beginning of the result that the model gets, at most 200 characters; all of it is in the
    /// history.
    pub preview: String,
    /// The size of the result that the model gets, in bytes.
    pub bytes: usize,
    /// The job that goes on in the background, if one does.
    pub job: Option<JobId>,
}

impl ToolFinished {
    fn new(name: &str, call_id: &str, result: &ToolResult, took: Duration) -> Self {
        Self {
            call_id: call_id.to_owned(),
            tool: name.to_owned(),
            took,
            code: result.code(),
            error_data: result.error_data().cloned(),
            user_text: result.user_text().map(str::to_owned),
            preview: result.text().chars().take(200).collect(),
            bytes: result.content().iter().map(crate::call::Content::len).sum(),
            job: result.job().cloned(),
        }
    }

    /// Returns whether the call failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.code.is_some()
    }
}

/// The function that receives the events.
pub(super) type Sink = Arc<dyn Fn(Event) + Send + Sync>;

/// Sends the events of one agent's run; does nothing without a sink.
#[derive(Clone)]
pub(super) struct Emitter {
    sink: Option<Sink>,
    path: Arc<[String]>,
    step: Arc<AtomicU32>,
    /// `true` while a run does again what was reported before its process died.
    muted: Arc<AtomicBool>,
}

impl Emitter {
    pub(super) fn new(sink: Option<Sink>, path: Arc<[String]>) -> Self {
        Self { sink, path, step: Arc::default(), muted: Arc::default() }
    }

    pub(super) fn is_on(&self) -> bool {
        self.sink.is_some()
    }

    pub(super) fn mute(&self, muted: bool) {
        self.muted.store(muted, Ordering::Relaxed);
    }

    pub(super) fn sink(&self) -> Option<&Sink> {
        self.sink.as_ref()
    }

    pub(super) fn enter_step(&self, step: u32) {
        self.step.store(step, Ordering::Relaxed);
    }

    /// Sends an event. A listener that panics loses it, and nothing else.
    pub(super) fn emit(&self, kind: impl FnOnce() -> EventKind) {
        let Some(sink) = &self.sink else { return };
        if self.muted.load(Ordering::Relaxed) {
            return;
        }
        let event = Event {
            path: Arc::clone(&self.path),
            step: self.step.load(Ordering::Relaxed),
            kind: kind(),
        };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| sink(event))) {
            tracing::error!("a listener to events panicked");
            crate::dispatch::forget_quietly(payload);
        }
    }

    /// Emits that a call has a result, made or refused.
    pub(super) fn tool_finished(&self, name: &str, result: &ToolResult, took: Duration) {
        self.emit(|| {
            EventKind::ToolFinished(ToolFinished::new(name, result.call_id(), result, took))
        });
    }
}

impl CallObserver for Emitter {
    fn started(&self, context: &ToolContext, arguments: &Arguments) {
        self.emit(|| EventKind::ToolStarted {
            call_id: context.call_id().to_owned(),
            tool: context.tool_name().to_owned(),
            arguments: arguments.clone(),
        });
    }

    fn approval_requested(&self, context: &ToolContext, arguments: &Arguments) {
        self.emit(|| EventKind::ApprovalRequested {
            call_id: context.call_id().to_owned(),
            tool: context.tool_name().to_owned(),
            arguments: arguments.clone(),
        });
    }

    fn finished(&self, context: &ToolContext, result: &ToolResult, took: Duration) {
        self.emit(|| {
            let (name, id) = (context.tool_name(), context.call_id());
            EventKind::ToolFinished(ToolFinished::new(name, id, result, took))
        });
    }
}

impl fmt::Debug for Emitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emitter").field("path", &self.path).finish_non_exhaustive()
    }
}
