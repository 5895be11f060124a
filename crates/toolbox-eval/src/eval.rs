//! Runs of a suite.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use toolbox::ToolBox;
use toolbox::agent::{Agent, AgentBuilder, BuildAgentError};
use toolbox::model::Model;
use toolbox::search::Gateway;

use crate::report::{CaseReport, Fault, FaultKind, Report, RunReport};
use crate::run::run;
use crate::suite::{Case, ExpectedAnswer, MAX_RUNS, Suite, SuiteError};

/// The number of runs at once, by default.
const PARALLEL: usize = 4;

/// The time beyond all limits after which a run is given up.
const STUCK: Duration = Duration::from_secs(2);

type ChangeAgent = dyn Fn(AgentBuilder) -> AgentBuilder + Send + Sync;
type Progress = dyn Fn(usize, usize) + Send + Sync;

/// Runs the cases of a suite over a model.
///
/// Each run has an agent and a transcript of its own; the tools are shared. A call that needs
/// approval is refused unless the box has an approver, and counts as made.
///
/// ```
/// use toolbox::testing::ScriptedModel;
/// use toolbox_eval::{Eval, Suite};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let suite = Suite::parse("name: manners\ncases: [{request: Thank you!, no_calls: true}]")?;
/// let report = Eval::new(suite, ScriptedModel::answering("You are welcome.")).runs(20).run().await?;
/// assert_eq!((report.rate.passed, report.rate.runs), (20, 20));
/// assert!(report.rate.low > 0.8 && report.passes());
/// # Ok(())
/// # }
/// ```
#[must_use = "an eval does nothing until `run`"]
pub struct Eval {
    suite: Suite,
    model: Arc<dyn Model>,
    judge: Option<Arc<dyn Model>>,
    toolbox: Option<ToolBox>,
    change: Arc<ChangeAgent>,
    progress: Option<Arc<Progress>>,
    parallel: usize,
    limit: Option<Duration>,
}

impl Eval {
    /// Returns an eval of a suite over a model.
    pub fn new(suite: Suite, model: impl Model) -> Self {
        Self {
            suite,
            model: Arc::new(model),
            judge: None,
            toolbox: None,
            change: Arc::new(|agent| agent),
            progress: None,
            parallel: PARALLEL,
            limit: None,
        }
    }

    /// Sets the tools. Default: those of the [suite](Suite::tools).
    pub fn toolbox(mut self, toolbox: ToolBox) -> Self {
        self.toolbox = Some(toolbox);
        self
    }

    /// Changes the agent of each run: options of the model, hooks, limits. It has the model, the
    /// tools and the instructions already. Called once for each run, and once before.
    pub fn agent(
        mut self,
        change: impl Fn(AgentBuilder) -> AgentBuilder + Send + Sync + 'static,
    ) -> Self {
        self.change = Arc::new(change);
        self
    }

    /// Sets the model that judges answers. Required by suites that have a rubric.
    pub fn judge(mut self, model: impl Model) -> Self {
        self.judge = Some(Arc::new(model));
        self
    }

    /// Sets the number of runs of each case, from 1 to 100. Default: that of the
    /// [suite](Suite::runs). A number outside of that range counts as the nearest within.
    pub fn runs(mut self, runs: u32) -> Self {
        self.suite.runs = runs.clamp(1, MAX_RUNS);
        self
    }

    /// Sets the number of runs at once. Default 4.
    pub fn parallel(mut self, runs: NonZeroUsize) -> Self {
        self.parallel = runs.get();
        self
    }

    /// Sets the time that each run may take. Default: that of the [suite](Suite::time_limit).
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Lets the model find and call the tools through a [`Gateway`]: all of them are deferred.
    /// Default: as the [suite](Suite::gateway) says.
    pub fn gateway(mut self, gateway: bool) -> Self {
        self.suite.gateway = gateway;
        self
    }

    /// Calls a function with the number of runs that ended and that of all, after each.
    pub fn on_progress(mut self, progress: impl Fn(usize, usize) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(progress));
        self
    }

    /// Runs all cases.
    ///
    /// An error of the model, a panic, a run that takes too long are faults of that run alone.
    ///
    /// # Errors
    ///
    /// [`EvalError`] if no run can begin.
    ///
    /// # Cancellation
    ///
    /// Dropping the future drops the runs.
    pub async fn run(self) -> Result<Report, EvalError> {
        let toolbox = self.box_of_runs()?;
        self.agent_over(&toolbox)?;
        let has_rubric = |answer: &ExpectedAnswer| answer.judge.is_some();
        let judged = |case: &Case| case.answer.as_ref().is_some_and(has_rubric);
        if self.judge.is_none() && self.suite.cases.iter().any(judged) {
            return Err(EvalError::NoJudge);
        }
        let mut runs = Runs::new(Arc::new(self), toolbox);
        runs.all().await;
        let suite = &runs.eval.suite;
        let mut reports = runs.reports.into_iter().flatten();
        let of_case =
            |case| CaseReport::new(case, reports.by_ref().take(suite.runs as usize).collect());
        let cases = suite.cases.iter().map(of_case).collect();
        Ok(Report::new(suite, runs.eval.model.name(), cases))
    }

    /// Returns the box that the runs share.
    fn box_of_runs(&self) -> Result<ToolBox, EvalError> {
        let given = match &self.toolbox {
            Some(toolbox) => toolbox.clone(),
            None => self.suite.toolbox().map_err(EvalError::Tools)?,
        };
        if !self.suite.gateway {
            return Ok(given);
        }
        let behind = given.filtered(|_| true);
        for tool in behind.tools() {
            behind.unregister(tool.name());
            behind.register(tool.deferred());
        }
        behind.register(Gateway::over(&behind));
        Ok(behind)
    }

    fn agent_over(&self, toolbox: &ToolBox) -> Result<Agent, EvalError> {
        let builder = Agent::builder(Arc::clone(&self.model)).toolbox(toolbox.clone());
        let builder = match &self.suite.system {
            Some(system) => builder.system(system),
            None => builder,
        };
        (self.change)(builder).build().map_err(EvalError::Agent)
    }

    fn limit(&self) -> Duration {
        self.limit.unwrap_or(Duration::from_secs(self.suite.time_limit))
    }
}

impl fmt::Debug for Eval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Eval")
            .field("suite", &self.suite.name)
            .field("model", &self.model.name())
            .finish_non_exhaustive()
    }
}

/// The runs of an eval, in the order of the cases.
struct Runs {
    eval: Arc<Eval>,
    toolbox: ToolBox,
    reports: Vec<Option<RunReport>>,
    working: JoinSet<RunReport>,
    /// The positions of the runs at work.
    positions: HashMap<Id, usize>,
    done: usize,
}

impl Runs {
    fn new(eval: Arc<Eval>, toolbox: ToolBox) -> Self {
        let total = eval.suite.cases.len() * eval.suite.runs as usize;
        let reports = std::iter::repeat_with(|| None).take(total).collect();
        let (working, positions) = (JoinSet::new(), HashMap::new());
        Self { eval, toolbox, reports, working, positions, done: 0 }
    }

    async fn all(&mut self) {
        let total = self.reports.len();
        let mut next = 0;
        // A run, and then its judge, end by themselves. Where none does for so long, each of those
        // at work blocks its thread.
        let patience = 2 * self.eval.limit() + STUCK;
        while self.done < total {
            while next < total && self.working.len() < self.eval.parallel {
                self.start(next);
                next += 1;
            }
            match tokio::time::timeout(patience, self.working.join_next_with_id()).await {
                Ok(Some(ended)) => self.ended(ended),
                Ok(None) => break,
                Err(_) => self.give_up(),
            }
        }
    }

    fn start(&mut self, position: usize) {
        let (eval, toolbox) = (Arc::clone(&self.eval), self.toolbox.clone());
        let work = self.working.spawn(async move {
            let case = &eval.suite.cases[position / eval.suite.runs as usize];
            match eval.agent_over(&toolbox) {
                Ok(agent) => run(case, &agent, eval.judge.clone(), eval.limit()).await,
                Err(error) => RunReport::failed(Fault::new(FaultKind::Stopped, error.to_string())),
            }
        });
        self.positions.insert(work.id(), position);
    }

    fn ended(&mut self, ended: Result<(Id, RunReport), JoinError>) {
        let (id, report) = match ended {
            Ok((id, report)) => (id, report),
            Err(error) => {
                let fault = Fault::new(FaultKind::Panicked, "the run panicked");
                (error.id(), RunReport::failed(fault))
            }
        };
        if let Some(position) = self.positions.remove(&id) {
            self.record(position, report);
        }
    }

    fn give_up(&mut self) {
        self.working = JoinSet::new();
        for (_, position) in std::mem::take(&mut self.positions) {
            let fault = Fault::new(FaultKind::TimedOut, "the run blocks its thread, and was left");
            self.record(position, RunReport::failed(fault));
        }
    }

    fn record(&mut self, position: usize, report: RunReport) {
        self.reports[position] = Some(report);
        self.done += 1;
        if let Some(progress) = &self.eval.progress {
            progress(self.done, self.reports.len());
        }
    }
}

/// The reason why no run of a suite can begin.
#[derive(Debug)]
#[non_exhaustive]
pub enum EvalError {
    /// A case has a rubric, and the eval has no judge.
    NoJudge,
    /// The tools of the suite make no box.
    Tools(SuiteError),
    /// The agent cannot be built.
    Agent(BuildAgentError),
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoJudge => {
                f.write_str("a case has a rubric, and there is no model to judge answers")
            }
            Self::Tools(error) => error.fmt(f),
            Self::Agent(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EvalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoJudge => None,
            Self::Tools(error) => error.source(),
            Self::Agent(error) => error.source(),
        }
    }
}
