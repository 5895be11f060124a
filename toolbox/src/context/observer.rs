//! Observation of calls: what the gate, and the tools themselves, report of them.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use super::approval::Decision;
use super::context::ToolContext;
use super::outputs::OutputItem;
use super::progress::Progress;
use super::question::{Answer, Question};
use crate::call::{Arguments, ToolResult};

/// Something that happened in one call.
pub(crate) enum CallReport<'a> {
    /// The tool is about to run.
    Started(&'a Arguments),
    /// The tool runs a script that is not among its arguments.
    Script(&'a str),
    /// The tool reports its progress.
    Progress(&'a Progress),
    /// The tool puts out an item.
    Output(&'a OutputItem),
    /// The call is refused before its tool runs.
    Refused {
        tool: &'a str,
        code: &'static str,
        arguments: Option<&'a str>,
    },
    /// The call waits for a decision.
    Deferred,
    /// The approver is asked whether the tool may run.
    ApprovalRequested(&'a Arguments),
    /// There is a decision on the call, by this name.
    ApprovalDecided {
        by: &'a str,
        decision: &'a Decision,
    },
    QuestionAsked(&'a Question),
    QuestionAnswered {
        origin: &'a str,
        key: &'a str,
        answer: &'a Answer,
    },
    /// The call has its result.
    Finished {
        tool: &'a str,
        result: &'a ToolResult,
        took: Duration,
    },
    /// The background job that the call started has its result.
    JobFinished {
        result: &'a ToolResult,
        took: Duration,
    },
}

/// Observes the calls made under a context, including those that its tools make in turn.
pub(crate) trait CallObserver: Any + Send + Sync {
    /// Takes the report of a call; `context` is that of the call.
    fn report(&self, context: &ToolContext, report: CallReport<'_>);

    /// Returns the observer of the calls that a call makes.
    fn below(&self, call_id: &str) -> Arc<dyn CallObserver>;
}

/// An observer, as a context keeps it.
struct Observed(Arc<dyn CallObserver>);

impl ToolContext {
    /// Returns the observer of the calls made under this context.
    pub(crate) fn observer(&self) -> Option<&Arc<dyn CallObserver>> {
        self.set_observer()?.downcast_ref().map(|Observed(observer)| observer)
    }

    pub(crate) fn with_observer(self, observer: Arc<dyn CallObserver>) -> Self {
        self.setting_observer(Arc::new(Observed(observer)))
    }

    /// Returns the observer of the calls that the tool of this call makes.
    pub(crate) fn observer_below(&self) -> Option<Arc<dyn CallObserver>> {
        let observer = self.observer()?;
        let is_call = self.tool.is_some() && !self.call_id.is_empty();
        Some(if is_call { observer.below(&self.call_id) } else { Arc::clone(observer) })
    }

    /// Reports what happens in this call, where somebody observes it.
    pub(crate) fn report<'a>(&self, report: impl FnOnce() -> CallReport<'a>) {
        if let Some(observer) = self.observer() {
            observer.report(self, report());
        }
    }

    /// Reports the script that the call runs, where it is not among its arguments, to those who
    /// watch: they show the [lines](crate::ToolCall::at_line) of its calls. Ignored if nobody does.
    pub fn report_script(&self, script: &str) {
        self.report(|| CallReport::Script(script));
    }

    /// Reports the progress of the call; ignored if the caller set no sink.
    pub fn report_progress(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        if !self.has_progress_sink() {
            return;
        }
        let progress = self.progress(done, total, message);
        self.report(|| CallReport::Progress(&progress));
        if let Some(sink) = self.progress_sink() {
            sink(progress);
        }
    }

    /// Returns a report of progress of this call.
    pub(super) fn progress(
        &self,
        done: f64,
        total: Option<f64>,
        message: impl Into<String>,
    ) -> Progress {
        let message = Some(message.into()).filter(|message| !message.is_empty());
        let (call_id, tool) = (self.call_id.clone(), self.tool_name().to_owned());
        Progress { call_id, tool, done, total, message }
    }

    /// Returns `true` if reports of progress are passed on.
    pub(crate) fn has_progress_sink(&self) -> bool {
        self.progress_sink().is_some() || self.observer().is_some()
    }

    /// Returns the context of an agent that a call of this context starts: all values of the
    /// program, and nothing of the call.
    pub(crate) fn for_agent_below(&self) -> Self {
        let (values, taint) = (self.values.clone(), self.taint.clone());
        let below = Self { values, taint, ..Self::default() };
        match self.observer_below() {
            Some(observer) => below.with_observer(observer),
            None => below,
        }
    }
}
