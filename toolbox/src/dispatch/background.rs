//! Calls that are answered at once and end later.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;

use super::admitted::{AdmittedCall, OwnedCall, answer};
use super::reentrancy::HeldLimits;
use super::supervise::cancelled;
use super::trace;
use crate::call::{Arguments, FailureKind, JobId, ToolResult};
use crate::collection::ToolBox;
use crate::context::auditor::AuditedStep;
use crate::context::observer::CallReport;
use crate::context::recorder::OpenRecord;
use crate::context::{Completion, ToolContext, now};
use crate::future::spawn;
use crate::tool::Tool;

impl ToolBox {
    /// Goes on with the work of a call in the background, by another tool, for a caller that takes
    /// completions. It was admitted, reported and recorded with the call.
    #[allow(dead_code, reason = "for mounted servers")]
    pub(crate) fn go_on(&self, context: &ToolContext, work: Tool) -> ToolResult {
        let context = ToolContext {
            call_id: context.call_id.clone(),
            tool: Some(Arc::clone(work.inner().definition.arc())),
            values: context.values.clone(),
            state: context.state.clone(),
            approved: true,
            whole: context.whole,
            ..ToolContext::default()
        };
        let admitted = AdmittedCall { tool: work, shared: Arc::clone(&self.shared), context };
        OwnedCall::new(admitted, Arguments::from("{}".to_owned())).spawn_job(None)
    }
}

impl OwnedCall {
    /// Returns `true` if the caller gets a result at once, and a completion later.
    pub(super) fn is_background(&self) -> bool {
        let running = &self.tool.inner().running;
        let ends_later = running.background || running.durable && self.context.completes_durable();
        ends_later && self.context.completions().is_some()
    }

    /// Starts the call as a job, which ends the record of it, and returns a result that says so.
    pub(super) fn start_job(&self, record: Option<Box<dyn OpenRecord>>) -> ToolResult {
        if let Err(refusal) = self.check() {
            return refusal;
        }
        self.context.report(|| CallReport::Started(&self.arguments));
        self.spawn_job(record)
    }

    fn spawn_job(&self, record: Option<Box<dyn OpenRecord>>) -> ToolResult {
        let (Some(completions), Ok(_)) = (self.context.completions(), Handle::try_current()) else {
            let text = format!(
                "tool `{}` runs in the background, and no runtime is here",
                self.tool.name()
            );
            return ToolResult::refusal(FailureKind::Reported, text);
        };
        let id = record.as_ref().and_then(|record| record.id().cloned());
        let job = id.unwrap_or_else(JobId::new);
        let text = format!("tool `{}` was started in the background as {job}", self.tool.name());
        tracing::info!(tool = self.tool.name(), %job, "a background tool was started");
        let report = Report {
            job: job.clone(),
            context: self.context.clone(),
            completions: completions.clone(),
            began: (self.context.observer().is_some() || self.auditor().is_some()).then(now),
            sent: false,
        };
        let mut work = self.detach();
        work.admitted.context = self.context.clone().without_deferral().without_recorder();
        // The caller may wait for the job while it holds a permit that the job needs too.
        let job_work = HeldLimits::current().scope(work.run_job(record, report));
        spawn(Box::pin(trace::carried(job_work)));
        ToolResult::background(text).with_job(job).marked_as_gate()
    }

    async fn run_job(self, record: Option<Box<dyn OpenRecord>>, report: Report) {
        let mut result = match self.job_result(record.as_deref()).await {
            Ok(result) | Err(result) => result,
        };
        self.bound(&mut result).await;
        if self.auditor().is_some() {
            let took = report.began.map_or(Duration::ZERO, |began| now() - began);
            if let Err(withheld) = self.audit(AuditedStep::Job { result: &result, took }).await {
                result = withheld;
            }
        }
        if let Some(record) = record {
            record.end(&result).await;
        }
        self.note(&result);
        report.send(answer(self.admitted.context.call_id, result));
    }

    async fn job_result(&self, record: Option<&dyn OpenRecord>) -> Result<ToolResult, ToolResult> {
        let permits = match self.try_permits() {
            Some(permits) => permits,
            None => self.wait().await?,
        };
        if let Some(record) = record {
            record.start().await?;
        }
        let mut result = self.run(permits, false).await;
        self.mark(&mut result);
        Ok(result)
    }
}

/// Sends the completion of a job exactly once, even if the job's task is dropped.
struct Report {
    job: JobId,
    context: ToolContext,
    completions: UnboundedSender<Completion>,
    /// The time at which an observed job began.
    began: Option<Instant>,
    sent: bool,
}

impl Report {
    fn send(mut self, result: ToolResult) {
        self.deliver(result);
    }

    fn deliver(&mut self, result: ToolResult) {
        self.sent = true;
        if let Some(began) = self.began {
            let took = now().saturating_duration_since(began);
            self.context.report(|| CallReport::JobFinished { result: &result, took });
        }
        // A completion that is kept must not keep its own channel open.
        let context = self.context.clone().without_completions();
        let completion = Completion { job: self.job.clone(), context, result };
        // Nothing is left to do if the receiver was dropped.
        let _ = self.completions.send(completion);
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if !self.sent {
            let result = cancelled(self.context.tool_name());
            self.deliver(answer(self.context.call_id.clone(), result));
        }
    }
}
