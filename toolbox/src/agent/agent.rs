//! An agent as a value.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::run_scope::AgentId;
use super::settings::AgentSettings;
use crate::collection::ToolBox;
use crate::context::rules::{Rules, ToolRule};
use crate::context::{InvalidRuleError, StateMap};
use crate::model::Model;

/// A model that may call the tools of a box until it has an answer.
///
/// An agent is a value to share: cloning is cheap, and any number of runs go on at once, each with
/// its own transcript. A run returns its [`RunOutcome`](super::RunOutcome), and emits
/// [`Event`](super::Event)s on its way. Its calls are subject to the [limits of its
/// box](ToolBox#limits): 60 seconds, 1 MiB of arguments and 256 KiB of results each, unless the box
/// says otherwise.
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
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
    pub(super) inner: Arc<AgentInner>,
}

pub(super) struct AgentInner {
    pub(super) id: AgentId,
    pub(super) name: String,
    pub(super) task: Option<String>,
    pub(super) system: Option<String>,
    pub(super) model: Arc<dyn Model>,
    pub(super) toolbox: ToolBox,
    /// For tools that find a state neither with their call nor in their box.
    pub(super) state: Option<Arc<StateMap>>,
    pub(super) rules: ArcSwap<Rules>,
    pub(super) settings: AgentSettings,
}

impl Agent {
    pub(super) fn from_inner(inner: AgentInner) -> Self {
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

    #[cfg(feature = "page")]
    pub(crate) fn model(&self) -> &Arc<dyn Model> {
        &self.inner.model
    }

    /// Returns the agent with another model.
    #[cfg(feature = "page")]
    pub(crate) fn with_model(&self, model: Arc<dyn Model>) -> Self {
        let inner = &self.inner;
        Self::from_inner(AgentInner {
            id: inner.id,
            name: inner.name.clone(),
            task: inner.task.clone(),
            system: inner.system.clone(),
            model,
            toolbox: inner.toolbox.clone(),
            state: inner.state.clone(),
            rules: ArcSwap::new(inner.rules.load_full()),
            settings: inner.settings.clone(),
        })
    }

    /// Forbids a tool in runs of this agent and of the agents below it, from the next step on. The
    /// name may hold `*`.
    ///
    /// # Panics
    ///
    /// If it names no tool, like `""` or `*`; [`Agent::try_blacklist_tool`] takes names from
    /// outside the program.
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
            rules.blacklist(ToolRule::new(name));
            rules
        });
        Ok(())
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
