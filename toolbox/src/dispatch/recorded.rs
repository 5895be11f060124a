//! Calls that are recorded before they run.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::admitted::OwnedCall;
use super::reentrancy::HeldLimits;
use super::supervise::{cancelled, panicked};
use super::trace;
use crate::call::{FailureKind, JobId, ToolResult};
use crate::context::recorder::{CallRecorder, CallToRecord, OpenRecord};
use crate::future::BoxFuture;

impl OwnedCall {
    /// Returns the recorder of this call: that of the context, else the journal of the box, where
    /// the tool or the context asks for it.
    pub(super) fn recorder(&self) -> Option<Arc<dyn CallRecorder>> {
        let running = &self.tool.inner().running;
        // The call that is dispatched in its place is recorded.
        if running.is_forwarded() {
            return None;
        }
        if let Some(recorder) = self.context.recorder() {
            let is_one = !running.starts_run || recorder.records_runs() || self.is_background();
            return is_one.then(|| Arc::clone(recorder));
        }
        let asked = running.durable || self.is_background() || self.context.is_unattended();
        let journal = self.shared.settings.journal.as_ref().filter(|_| asked);
        journal.cloned().or_else(|| running.durable.then(|| Arc::new(Missing) as _))
    }

    /// Records the call, runs it, and records its result.
    pub(super) async fn run_recorded(&self, recorder: Arc<dyn CallRecorder>) -> ToolResult {
        if let Err(refusal) = self.check() {
            return refusal;
        }
        let call = self.detach();
        let outlives = recorder.calls_outlive_caller();
        let run = async move { call.run_between_records(&*recorder).await.unwrap_or_else(|it| it) };
        let Some(runtime) = Handle::try_current().ok().filter(|_| outlives) else {
            return run.await;
        };
        let run: BoxFuture<'static, ToolResult> =
            Box::pin(HeldLimits::current().scope(trace::carried(run)));
        // Dropping the handle does not stop the task.
        match runtime.spawn(run).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(payload) => panicked(self.tool.name(), payload),
                Err(_) => cancelled(self.tool.name()),
            },
        }
    }

    async fn run_between_records(
        mut self,
        recorder: &dyn CallRecorder,
    ) -> Result<ToolResult, ToolResult> {
        let background = self.is_background();
        // A call that only waits for its permits is not recorded as one that runs.
        let permits = if background {
            None
        } else {
            Some(match self.try_permits() {
                Some(permits) => permits,
                None => self.wait().await?,
            })
        };
        let call = CallToRecord {
            definition: Arc::clone(self.tool.shared_definition().arc()),
            context: self.context.clone(),
            arguments: self.arguments.clone(),
            job: background.then(JobId::new),
        };
        let record = recorder.begin(call).await?;
        // A call that is recorded is not made again.
        let mut context = self.context.clone().without_recorder().without_question_desk();
        if let Some(token) = record.cancellation() {
            context = context.with_cancellation(token);
        }
        self.admitted.context = context;
        let Some(permits) = permits else { return Ok(self.start_job(Some(record))) };
        let mut result = self.run_observed(permits).await;
        // The record holds what the caller gets.
        self.bound(&mut result).await;
        record.end(&result).await;
        Ok(match record.id() {
            Some(id) => result.with_job(id.clone()),
            None => result,
        })
    }
}

/// The recorder of durable tools in a box without a journal.
struct Missing;

impl CallRecorder for Missing {
    fn calls_outlive_caller(&self) -> bool {
        false
    }

    fn begin(&self, call: CallToRecord) -> BoxFuture<'_, Result<Box<dyn OpenRecord>, ToolResult>> {
        let tool = &call.definition.name;
        let text = format!("tool `{tool}` is durable, and its box has no journal: it has not run");
        Box::pin(async move { Err(ToolResult::refusal(FailureKind::Infrastructure, text)) })
    }
}
