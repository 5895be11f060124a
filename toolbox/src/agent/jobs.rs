//! Background jobs of a run.

use std::collections::HashSet;
use std::fmt;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::call::{Content, JobId, ToolResult};
use crate::context::Completion;
use crate::text::{QUOTED, quote};

/// Handling of background jobs when the model has its answer, or the run stops for an approval.
///
/// ```
/// use toolbox::Agent;
/// use toolbox::agent::JobPolicy;
/// use toolbox::testing::ScriptedModel;
///
/// let model = ScriptedModel::new().text("The report is on its way.");
/// let agent = Agent::builder(model).jobs(JobPolicy::Leave).build().unwrap();
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobPolicy {
    /// The run waits for them, and the model gets a report of each.
    #[default]
    Wait,
    /// They go on, unless the run is dropped before; how they end arrives at
    /// [`RunOutcome::jobs`](super::RunOutcome::jobs).
    Leave,
    /// They are cancelled.
    Cancel,
}

/// The jobs a run started, and what comes of them.
pub(super) struct Jobs {
    sender: UnboundedSender<Completion>,
    receiver: UnboundedReceiver<Completion>,
    open: HashSet<JobId>,
}

impl Default for Jobs {
    fn default() -> Self {
        Self::new()
    }
}

impl Jobs {
    pub(super) fn new() -> Self {
        let (sender, receiver) = unbounded_channel();
        Self { sender, receiver, open: HashSet::new() }
    }

    pub(super) fn sender(&self) -> UnboundedSender<Completion> {
        self.sender.clone()
    }

    pub(super) fn note(&mut self, results: &[ToolResult]) {
        let pending = results.iter().filter(|result| result.is_pending());
        self.open.extend(pending.filter_map(ToolResult::job).cloned());
    }

    /// Forgets a job that was reported.
    pub(super) fn forget(&mut self, job: &JobId) {
        self.open.remove(job);
    }

    pub(super) fn any_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns a completion that is there already.
    pub(super) fn ready(&mut self) -> Option<Completion> {
        let completion = self.receiver.try_recv().ok()?;
        self.open.remove(&completion.job);
        Some(completion)
    }

    /// Waits for the next completion.
    pub(super) async fn next(&mut self) -> Option<Completion> {
        let completion = self.receiver.recv().await?;
        self.open.remove(&completion.job);
        Some(completion)
    }

    pub(super) fn into_late(self) -> LateJobs {
        LateJobs { receiver: Some(self.receiver), open: self.open }
    }
}

/// The jobs that go on after a run, each to end with one [`Completion`].
#[derive(Default)]
pub struct LateJobs {
    receiver: Option<UnboundedReceiver<Completion>>,
    open: HashSet<JobId>,
}

impl LateJobs {
    /// Returns how many jobs have not ended yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Returns whether every job has ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Waits for the next job to end; `None` when no job is left.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses no completion.
    pub async fn next(&mut self) -> Option<Completion> {
        if self.open.is_empty() {
            return None;
        }
        let completion = self.receiver.as_mut()?.recv().await?;
        self.open.remove(&completion.job);
        Some(completion)
    }
}

impl fmt::Debug for LateJobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LateJobs").field("open", &self.open).finish_non_exhaustive()
    }
}

/// The beginning of the message that reports a job to the model.
const OBSERVED: &str = "[background job ";

/// The end of its first line, of a job that met text of others.
const OF_OTHERS: &str = ", with text of untrusted sources]";

/// Returns the tool of the job that a text reports, if it reports one, and whether it is marked.
pub(super) fn observed(text: &str) -> Option<(&str, bool)> {
    let head = text.strip_prefix(OBSERVED)?.lines().next()?;
    Some((head.split('`').nth(1)?, head.ends_with(OF_OTHERS)))
}

/// Returns the report of a job that ended, for the model.
pub(super) fn observation(completion: Completion) -> Vec<Content> {
    let Completion { job, context, result } = completion;
    let how = if result.is_error() { "failed" } else { "ended" };
    let end = if result.is_untrusted() { OF_OTHERS } else { "]" };
    let head = format!(
        "{OBSERVED}{job} of tool `{}`, started by call {}, has {how}{end}",
        context.tool_name(),
        quote(context.call_id(), QUOTED)
    );
    let text = result.text();
    let head = if text.is_empty() { head } else { format!("{head}\n{text}") };
    let others = result.content().iter().filter(|part| part.to_text().is_none()).cloned();
    std::iter::once(Content::text(head)).chain(others).collect()
}
