//! The worker: it runs the calls that a journal accepted.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{JoinError, JoinSet};

use super::backlog::{Claim, RecordedCall};
use super::journal::{Journal, POLL, digest};
use super::recorder::{ClaimRecorder, unusable};
use crate::agent::{Agent, RunError};
use crate::call::ToolCall;
use crate::collection::ToolBox;
use crate::context::{CarriedContext, now};
use crate::dispatch::Pass;
use crate::store::StoreError;
use crate::tool::Tool;

/// The most calls that one worker runs at once, unless it is told otherwise.
const CONCURRENCY: usize = 16;

/// Runs the calls that a journal accepted, through the gate of a box.
///
/// Any number of workers, in any number of processes, may share a journal: each call is given to
/// one. A worker takes calls of tools that its box has, with the same schema as when the call was
/// accepted. What the box forbids by then is refused, and the rules of the context in which the
/// call was submitted hold as well.
///
/// ```
/// use toolbox::durable::{Journal, Worker};
/// use toolbox::{tool, tools, ToolBox, ToolCall, ToolContext};
///
/// /// Greets somebody.
/// #[tool(idempotent)]
/// fn greet(name: &str) -> String {
///     format!("Hello, {name}!")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let journal = Journal::in_memory()?;
/// let toolbox = ToolBox::from(tools![greet]);
/// let call = ToolCall::new("1", "greet", r#"{"name": "Ada"}"#);
/// let accepted = toolbox.submit(&journal, &ToolContext::new(), call).await;
/// let id = accepted.job().expect("it was accepted");
///
/// Worker::new(toolbox, &journal).run_until_idle().await?;
/// let call = journal.wait(id).await?.expect("it is kept");
/// assert_eq!(call.result.unwrap().text(), "Hello, Ada!");
/// # Ok(())
/// # }
/// ```
pub struct Worker {
    toolbox: ToolBox,
    journal: Journal,
    concurrency: usize,
    grace: Duration,
    agents: Vec<Agent>,
}

/// The pause before a run that failed goes on once more: twice as long each time, up to the second.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(300)];

impl Worker {
    /// Returns a worker for the tools of a box.
    #[must_use]
    pub fn new(toolbox: ToolBox, journal: &Journal) -> Self {
        let grace = Duration::from_secs(30);
        let (journal, agents) = (journal.clone(), Vec::new());
        Self { toolbox, journal, concurrency: CONCURRENCY, grace, agents }
    }

    /// Goes on with the runs of an agent that their process left behind, and with those that paused
    /// and were [decided on](Journal::decide) since. They are found by the agent's name.
    ///
    /// A run that fails is tried again after a pause: a second, then twice as long each time, up to
    /// five minutes.
    #[must_use]
    pub fn agent(mut self, agent: &Agent) -> Self {
        self.agents.push(agent.clone());
        self
    }

    /// Sets how many calls, and how many runs, are at work at once. Default 16 of each.
    #[must_use]
    pub fn concurrency(mut self, calls: usize) -> Self {
        self.concurrency = calls.max(1);
        self
    }

    /// Sets how long the calls that run may go on when the worker is to stop. Default 30 seconds;
    /// after that they are dropped where they wait.
    #[must_use]
    pub fn grace(mut self, time: Duration) -> Self {
        self.grace = time;
        self
    }

    /// Runs calls until `stop` ends, then lets those that run end.
    ///
    /// A store that fails is tried again; what fails is logged.
    ///
    /// # Cancellation
    ///
    /// Dropping the future drops the calls that run where they wait: within a third of the lease,
    /// those of idempotent tools wait for a worker again, and the outcome of others is unknown.
    pub async fn run_until(self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let mut claimed = ClaimedTools::default();
        let mut running = JoinSet::new();
        let mut runs = Runs::default();
        loop {
            let changed = self.journal.inner.changed.notified();
            if let Err(error) = self.take(&mut claimed, &mut running).await {
                tracing::error!(%error, "the journal could not be read; trying again");
            }
            if let Err(error) = self.take_runs(&mut runs).await {
                tracing::error!(%error, "the runs could not be read; trying again");
            }
            tokio::select! {
                () = &mut stop => break,
                Some(ended) = runs.at_work.join_next(), if !runs.at_work.is_empty() => {
                    runs.note(ended);
                }
                Some(_) = running.join_next(), if !running.is_empty() => {}
                () = changed, if running.len() < self.concurrency => {}
                () = tokio::time::sleep(POLL) => {}
            }
        }
        // A run goes on in another process from where it is.
        drop(runs);
        let rest = async { while running.join_next().await.is_some() {} };
        if tokio::time::timeout(self.grace, rest).await.is_err() {
            tracing::warn!("calls were still running when their worker stopped");
        }
    }

    /// Runs what waits, and returns when nothing does: for a program that starts, and for tests.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub async fn run_until_idle(&self) -> Result<(), StoreError> {
        self.journal.recover().await?;
        let mut claimed = ClaimedTools::default();
        let mut running = JoinSet::new();
        loop {
            self.take(&mut claimed, &mut running).await?;
            if running.join_next().await.is_none() {
                return Ok(());
            }
        }
    }

    /// Starts the runs that may go on.
    async fn take_runs(&self, runs: &mut Runs) -> Result<(), StoreError> {
        if self.agents.is_empty() || runs.at_work.len() >= self.concurrency {
            return Ok(());
        }
        let now = now();
        for run in self.journal.runs_to_resume().await? {
            let agent = self.agents.iter().find(|agent| agent.name() == run.agent);
            let is_due = runs.failed.get(&run.key).is_none_or(|(due, _)| *due <= now);
            let Some(agent) = agent.filter(|_| is_due) else { continue };
            if runs.at_work.len() >= self.concurrency {
                break;
            }
            let resumed = agent.resume(run.key.as_str(), &self.journal).into_future();
            runs.at_work.spawn(async move { (run.key, resumed.await.map(drop)) });
        }
        Ok(())
    }

    /// Claims as many calls as may run, and starts them.
    async fn take(
        &self,
        claimed: &mut ClaimedTools,
        running: &mut JoinSet<()>,
    ) -> Result<(), StoreError> {
        // Calls that were written in one commit end together, and are followed by as many.
        while running.try_join_next().is_some() {}
        let free = self.concurrency.saturating_sub(running.len());
        if free < self.concurrency.div_ceil(4) {
            return Ok(());
        }
        let mut tools = claimed.of(&self.toolbox);
        tools.retain(|tool| !self.journal.inner.is_relayed(tool));
        for call in self.journal.inner.backlog.claim(tools, free).await? {
            let (toolbox, journal) = (self.toolbox.clone(), self.journal.clone());
            running.spawn(run(toolbox, journal, call));
        }
        Ok(())
    }
}

/// The tools of a box with their digests, which are computed once for each change of the box.
#[derive(Default)]
struct ClaimedTools {
    generation: Option<u64>,
    tools: Vec<(String, String)>,
}

impl ClaimedTools {
    fn of(&mut self, toolbox: &ToolBox) -> Vec<(String, String)> {
        // Asked for first: a change in between is seen at the next claim.
        let generation = toolbox.generation();
        if self.generation != Some(generation) {
            let digested = |tool: &Tool| (tool.name().to_owned(), digest(tool.definition()));
            self.tools = toolbox.tools().iter().map(digested).collect();
            self.generation = Some(generation);
        }
        self.tools.clone()
    }
}

/// The runs that a worker goes on with.
#[derive(Default)]
struct Runs {
    at_work: JoinSet<(String, Result<(), RunError>)>,
    /// The runs that failed, each with the time at which it is tried again, and the pause.
    failed: HashMap<String, (Instant, Duration)>,
}

impl Runs {
    fn note(&mut self, ended: Result<(String, Result<(), RunError>), JoinError>) {
        let Ok((key, result)) = ended else { return };
        let Err(error) = result else {
            self.failed.remove(&key);
            return;
        };
        tracing::warn!(run = key, %error, "a run did not go on; it is tried again");
        let [first, longest] = PAUSES;
        let pause = self.failed.get(&key).map_or(first, |(_, pause)| (*pause * 2).min(longest));
        self.failed.insert(key, (now() + pause, pause));
    }
}

async fn run(toolbox: ToolBox, journal: Journal, call: RecordedCall) {
    let carried: CarriedContext = match serde_json::from_str(&call.context) {
        Ok(carried) => carried,
        Err(error) => {
            let end = unusable(&call.tool, &format!("its context cannot be read: {error}"));
            return journal.inner.finish(Claim::new(call.id, call.attempt), end).await;
        }
    };
    let tool_call =
        ToolCall::new(call.call_id.as_str(), call.tool.as_str(), call.arguments.clone());
    let recorder = ClaimRecorder::new(&journal.inner, call);
    let context = carried.restore().with_recorder(Arc::new(Arc::clone(&recorder)));
    // It was approved when it was accepted, if it had to be.
    let pass = Pass { approved: true, hidden: true, whole: false };
    let result = toolbox.dispatch(Some(&context), tool_call, pass).await;
    recorder.end_unbegun(&result).await;
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("toolbox", &self.toolbox)
            .field("journal", &self.journal)
            .finish_non_exhaustive()
    }
}
