//! What happens in a run, as it happens.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::outcome::StopReason;
use crate::call::{Arguments, JobId, ToolResult};
use crate::context::observer::CallObserver;
use crate::context::{Progress, ToolContext};
use crate::model::{Delta, Finish, ModelErrorKind, Usage};

/// Something that happened in a run, or in a run of an agent below it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The names of the agents from the one that was started down to the one this happened in.
    pub path: Arc<[String]>,
    /// The step of that agent, from one; zero before its first.
    pub step: u32,
    /// What happened.
    pub kind: EventKind,
}

impl Event {
    /// Returns how many agents are above the one this happened in.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.path.len().saturating_sub(1)
    }
}

/// What can happen in a run.
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
        /// What it cost.
        usage: Usage,
        /// How many calls the reply makes.
        calls: usize,
        /// How long it took.
        took: Duration,
    },
    /// The model gave no reply.
    ModelFailed {
        /// What kept it from replying.
        kind: ModelErrorKind,
    },
    /// A tool is about to run.
    ToolStarted {
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// What it is called with.
        arguments: Arguments,
    },
    /// A tool says how far it has come.
    ToolProgress(Progress),
    /// A call has its result.
    ToolFinished(ToolFinished),
    /// The model called a tool that may not be called; it was told so.
    Blacklisted {
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
    },
    /// Somebody is asked whether a tool may run.
    ApprovalRequested {
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// What it would be called with.
        arguments: Arguments,
    },
    /// A call waits for a decision that nobody took yet.
    ApprovalDeferred {
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
    },
    /// The model makes the same call again and again; it was told so.
    Repeated {
        /// The tool.
        tool: String,
        /// How often in a row.
        times: u32,
    },
    /// A background job ended, and the model is told.
    JobCompleted {
        /// The job.
        job: JobId,
        /// The id of the call that started it.
        call_id: String,
        /// Its tool.
        tool: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// The run of one agent ended without an outcome.
    Failed {
        /// Why, for the programmer.
        message: String,
        /// What it cost, together with the agents below it.
        usage: Usage,
    },
    /// The run of one agent ended.
    Finished {
        /// Why.
        reason: StopReason,
        /// What it cost, together with the agents below it.
        usage: Usage,
    },
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolFinished {
    /// The id of the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// How long it took, with the time it waited for a place or a decision; zero for a call that was not let in.
    pub took: Duration,
    /// The stable code of the failure, if it failed.
    pub code: Option<&'static str>,
    /// The data of the failure, if it gave any: see [`ToolResult::error_data`](crate::ToolResult::error_data).
    pub error_data: Option<serde_json::Value>,
    /// What the user should be shown, if anything.
    pub user_text: Option<String>,
    /// The beginning of what the model is told, at most 200 characters; all of it stands in the history.
    pub preview: String,
    /// How many bytes the model is told.
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

/// Where events go.
pub(super) type Sink = Arc<dyn Fn(Event) + Send + Sync>;

/// Sends the events of one agent's run; does nothing where nobody listens.
#[derive(Clone)]
pub(super) struct Emitter {
    sink: Option<Sink>,
    path: Arc<[String]>,
    step: Arc<AtomicU32>,
}

impl Emitter {
    pub(super) fn new(sink: Option<Sink>, path: Arc<[String]>) -> Self {
        Self { sink, path, step: Arc::default() }
    }

    pub(super) fn is_on(&self) -> bool {
        self.sink.is_some()
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

    /// Says that a call has a result, whether or not it was let in.
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
