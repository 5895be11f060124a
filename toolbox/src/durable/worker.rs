//! The worker: it runs the calls that a journal accepted.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::backlog::{Claim, RecordedCall};
use super::journal::{Journal, POLL, digest};
use super::recorder::{ClaimRecorder, unusable};
use crate::call::ToolCall;
use crate::collection::ToolBox;
use crate::context::CarriedContext;
use crate::dispatch::Pass;
use crate::store::StoreError;

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
}

impl Worker {
    /// Returns a worker for the tools of a box.
    #[must_use]
    pub fn new(toolbox: ToolBox, journal: &Journal) -> Self {
        let grace = Duration::from_secs(30);
        Self { toolbox, journal: journal.clone(), concurrency: CONCURRENCY, grace }
    }

    /// Sets how many calls run at once. Default 16.
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
    /// Dropping the future drops the calls that run where they wait. Their outcome is unknown, and
    /// is recorded so when the journal is dropped or its process ends.
    pub async fn run_until(self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let mut running = JoinSet::new();
        loop {
            let changed = self.journal.inner.changed.notified();
            if let Err(error) = self.take(&mut running).await {
                tracing::error!(%error, "the journal could not be read; trying again");
            }
            tokio::select! {
                () = &mut stop => break,
                Some(_) = running.join_next(), if !running.is_empty() => {}
                () = changed, if running.len() < self.concurrency => {}
                () = tokio::time::sleep(POLL) => {}
            }
        }
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
        let mut running = JoinSet::new();
        loop {
            self.take(&mut running).await?;
            if running.join_next().await.is_none() {
                return Ok(());
            }
        }
    }

    /// Claims as many calls as may run, and starts them.
    async fn take(&self, running: &mut JoinSet<()>) -> Result<(), StoreError> {
        let free = self.concurrency.saturating_sub(running.len());
        if free == 0 {
            return Ok(());
        }
        let tools = self.toolbox.tools();
        let tools =
            tools.iter().map(|tool| (tool.name().to_owned(), digest(tool.definition()))).collect();
        for call in self.journal.inner.backlog.claim(tools, free).await? {
            let (toolbox, journal) = (self.toolbox.clone(), self.journal.clone());
            running.spawn(run(toolbox, journal, call));
        }
        Ok(())
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
    let pass = Pass { approved: true, hidden: true };
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
