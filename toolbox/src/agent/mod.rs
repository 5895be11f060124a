//! Agents: a model and a box, joined by a loop; and agents as tools of other agents.

mod builder;
mod event;
mod inherited;
mod jobs;
mod lineage;
mod outcome;
mod paused;
mod repeat;
mod run;
mod step;
mod subagent;
mod trace;
mod watched;

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use builder::{
    AgentBuilder, BuildAgentError, InfrastructurePolicy, IntoSubagent, MaxIterations,
};
pub use event::{Event, EventKind, ToolFinished};
pub use jobs::{JobPolicy, LateJobs};
pub use outcome::{ExtractError, RunError, RunErrorKind, RunOutcome, StopReason};
pub use paused::{Paused, PendingCall};
pub use run::{Run, RunEvents};

use crate::approval::Decision;
use crate::collection::ToolBox;
use crate::context::Values;
use crate::model::{History, Model, UserContent};
use crate::rules::{InvalidRuleError, Rules};

/// A model that may call the tools of a box until it has an answer.
///
/// An agent is a value to share: cloning is cheap, and any number of runs go on at once, each with its own transcript.
/// What happens in a run is in its [`RunOutcome`], and in its [`Event`]s while it happens. Its calls are held to the
/// [limits of its box](ToolBox#limits): 60 seconds, 1 MiB of arguments and 256 KiB of results each, unless the box says otherwise.
///
/// ```
/// use toolbox::agent::{Agent, StopReason};
/// use toolbox::testing::ScriptedModel;
/// use toolbox::{tool, tools};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // In place of a real one, such as `OpenAi::from_env("gpt-5")?`.
/// let model = ScriptedModel::new().calls("add", r#"{"a": 2, "b": 3}"#).text("It is 5.");
/// let agent = Agent::builder(model).tools(tools![add]).build()?;
///
/// let outcome = agent.run("What is 2 + 3?").await?;
/// assert_eq!(outcome.content, "It is 5.");
/// assert_eq!((outcome.reason, outcome.iterations), (StopReason::Answered, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

struct Inner {
    id: lineage::AgentId,
    name: String,
    task: Option<String>,
    system: Option<String>,
    model: Arc<dyn Model>,
    toolbox: ToolBox,
    /// For tools that find a state neither with their call nor in their box.
    state: Option<Arc<Values>>,
    rules: ArcSwap<Rules>,
    settings: builder::Settings,
}

impl Agent {
    /// Starts an agent over a model.
    pub fn builder(model: impl Model) -> AgentBuilder {
        AgentBuilder::empty().llm(model)
    }

    fn from_inner(inner: Inner) -> Self {
        Self { inner: Arc::new(inner) }
    }

    /// Returns the agent's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the box whose tools the agent may call: the same that it was built with.
    #[must_use]
    pub fn toolbox(&self) -> &ToolBox {
        &self.inner.toolbox
    }

    /// Forbids a tool in runs of this agent and of the agents below it, from the next step on. The name may hold `*`.
    ///
    /// # Panics
    ///
    /// If it names no tool, like `""` or `*`; [`Agent::try_blacklist_tool`] takes names from outside the program.
    #[track_caller]
    pub fn blacklist_tool(&self, name: &str) {
        if let Err(error) = self.try_blacklist_tool(name) {
            panic!("{error}");
        }
    }

    /// Forbids a tool, like [`Agent::blacklist_tool`].
    ///
    /// # Errors
    ///
    /// [`InvalidRuleError`] if it names no tool.
    pub fn try_blacklist_tool(&self, name: &str) -> Result<(), InvalidRuleError> {
        InvalidRuleError::check(name)?;
        self.inner.rules.rcu(|rules| {
            let mut rules = Rules::clone(rules);
            rules.blacklist(name);
            rules
        });
        Ok(())
    }

    /// Starts a run with what the user says. It begins when it is awaited, and ends when it is dropped.
    pub fn run(&self, input: impl Into<UserContent>) -> Run {
        Run::new(self.clone(), History::from(input.into()))
    }

    /// Starts a run with the task the agent was built with; with none, the model is told nothing.
    pub fn run_task(&self) -> Run {
        self.run(self.inner.task.as_deref().unwrap_or_default())
    }

    /// Returns what the model makes of an input as a value of type `T`: the short way of [`Run::extract`].
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use toolbox::agent::Agent;
    /// use toolbox::testing::ScriptedModel;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Person {
    ///     name: String,
    ///     age: u8,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::answering(r#"{"name": "Ada", "age": 36}"#);
    /// let agent = Agent::builder(model).build()?;
    /// let person: Person = agent.extract("Ada died at the age of 36.").await?;
    /// assert_eq!((person.name.as_str(), person.age), ("Ada", 36));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ExtractError`] if the run failed, or stopped for another reason than an answer; it keeps the transcript.
    pub async fn extract<T: DeserializeOwned + JsonSchema + 'static>(
        &self,
        input: impl Into<UserContent>,
    ) -> Result<T, ExtractError> {
        self.run(input).extract().await
    }

    /// Goes on with a run that stopped for an approval, with what somebody decided about its
    /// [pending calls](Paused::pending), by their ids. A call without a decision goes on waiting.
    ///
    /// The run goes on in the agent that stopped, or in one built the same way: an agent of another name is refused, and so is
    /// a context ([`Run::in_context`]) for another [`Principal`](crate::Principal), with
    /// [`RunErrorKind::ForeignPause`]. Tools are not compared. What the agent may not call by now, or has no more, does not run,
    /// whatever was decided; a call whose tool has changed is checked against its schema of today. Nothing says that the document
    /// is as it was written: keep it where only the program writes.
    ///
    /// ```no_run
    /// # use toolbox::agent::{Agent, Paused};
    /// # use toolbox::Decision;
    /// # async fn f(agent: Agent, text: String) -> Result<(), Box<dyn std::error::Error>> {
    /// let paused: Paused = serde_json::from_str(&text)?;
    /// let pending = paused.pending();
    /// let decisions = pending.into_iter().map(|call| (call.id, Decision::Approve));
    /// let outcome = agent.resume(paused, decisions).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn resume<K: Into<String>>(
        &self,
        paused: Paused,
        decisions: impl IntoIterator<Item = (K, Decision)>,
    ) -> Run {
        Run::resumed(self.clone(), paused, paused::collect(decisions))
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.inner.name)
            .field("model", &self.inner.model.name())
            .field("toolbox", &self.inner.toolbox)
            .finish_non_exhaustive()
    }
}
