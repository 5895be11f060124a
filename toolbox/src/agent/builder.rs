//! The builder of agents.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::agent::{Agent, AgentInner};
use super::budget::UNLIMITED;
use super::jobs::JobPolicy;
use super::run_scope::AgentId;
use super::settings::{AgentSettings, InfrastructurePolicy};
use crate::collection::ToolBox;
use crate::context::rules::{Rules, ToolRule};
use crate::context::{Approver, InvalidRuleError, Requirement, StateMap};
use crate::cost::price_of;
use crate::model::{Model, ToolChoice, Usage};
use crate::tool::{IntoTools, MapFn, Tool};

mod context;
mod error;
mod hooks;
mod into_subagent;
mod limits;

pub use error::BuildAgentError;
pub use into_subagent::IntoSubagent;

/// Makes a model of a service, once its name and its address are known, where the builder was given
/// any.
type Backend = Box<dyn FnOnce(Option<String>, Option<String>) -> Arc<dyn Model> + Send>;

/// Builds an [`Agent`].
///
/// ```
/// use toolbox::agent::AgentBuilder;
/// use toolbox::testing::ScriptedModel;
/// use toolbox::Tool;
///
/// let agent = AgentBuilder::new("Find out what macros are")
///     .llm(ScriptedModel::answering("Macros are code that writes code."))
///     .add_tool(Tool::new("search", "Searches the web").param("query", "string", "Words").call(|args| {
///         Ok::<_, String>(format!("hits for {}", args["query"]))
///     }))
///     .max_iterations(10)
///     .build()?;
/// # Ok::<(), toolbox::agent::BuildAgentError>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct AgentBuilder {
    name: String,
    task: Option<String>,
    system: Option<String>,
    model: Option<Arc<dyn Model>>,
    model_name: Option<String>,
    base_url: Option<String>,
    backend: Option<Backend>,
    toolbox: Option<ToolBox>,
    tools: Vec<Tool>,
    rules: Vec<String>,
    state: StateMap,
    call_state: Vec<Requirement>,
    settings: AgentSettings,
    error: Option<BuildAgentError>,
}

impl Agent {
    /// Starts an agent over a model.
    pub fn builder(model: impl Model) -> AgentBuilder {
        AgentBuilder::empty().llm(model)
    }
}

impl AgentBuilder {
    /// Starts an agent with a task of its own: what [`Agent::run_task`] asks of it.
    pub fn new(task: impl Into<String>) -> Self {
        Self { task: Some(task.into()), ..Self::empty() }
    }

    pub(super) fn empty() -> Self {
        Self {
            name: "agent".to_owned(),
            task: None,
            system: None,
            model: None,
            model_name: None,
            base_url: None,
            backend: None,
            toolbox: None,
            tools: Vec::new(),
            rules: Vec::new(),
            state: StateMap::default(),
            call_state: Vec::new(),
            settings: AgentSettings::default(),
            error: None,
        }
    }

    /// Sets the model.
    pub fn llm(mut self, model: impl Model) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Sets the name of the model, for a service that was given by its key. Default: the service's
    /// own (`OpenAi::DEFAULT_MODEL` and its like).
    ///
    /// A model given with [`llm`](Self::llm) has its name already.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model_name = Some(name.into());
        self
    }

    /// Sets the address of the service that was given by its key, such as that of a compatible
    /// server or a proxy.
    ///
    /// Default: the service's own. A model given with [`llm`](Self::llm) has its address already.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets a service: the constructor of its model from a key and a name, and its base address.
    pub(crate) fn service<M: Model>(
        mut self,
        key: impl Into<String>,
        usual: &'static str,
        new: fn(String, String) -> M,
        at: fn(M, String) -> M,
    ) -> Self {
        let key = key.into();
        self.backend = Some(Box::new(move |name, url| {
            let model = new(key, name.unwrap_or_else(|| usual.to_owned()));
            Arc::new(match url {
                Some(url) => at(model, url),
                None => model,
            })
        }));
        self
    }

    /// Sets the agent's name, for events and traces. Default `agent`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the instructions that stand before the transcript. Without them, the agent's own task
    /// stands there when it is called as a tool.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Sets the box whose tools the agent may call, and shares it: a tool registered later is
    /// offered in the next step.
    ///
    /// Tools added to this builder go into that box when the agent is built; a name that is taken
    /// there is an error.
    ///
    /// Default: a box of the agent's own. With the feature `results`, that box keeps large results
    /// in memory for as long as their transcript is there (`docs/results.md`); a box that is given
    /// does with them what it does.
    pub fn toolbox(mut self, toolbox: ToolBox) -> Self {
        self.toolbox = Some(toolbox);
        self
    }

    /// Adds a state for the tools that take [`State<T>`](crate::State), one of each type.
    ///
    /// It serves the tools of this agent, whatever its box: a call, a tool and a box that hold one
    /// of their own go first, but tools added to this builder take the agent's before that of the
    /// box. Agents below have states of their own, and those of this one where they
    /// [inherit](Self::inherit_tools) its tools.
    pub fn state<T: Send + Sync + 'static>(self, state: T) -> Self {
        self.shared_state(Arc::new(state))
    }

    /// Adds a state that the program shares with the agent.
    pub fn shared_state<T: Send + Sync + 'static>(mut self, state: Arc<T>) -> Self {
        self.state.insert(state);
        self
    }

    /// Says that the program gives a state of type `T` with each run
    /// ([`Run::in_context`](super::Run::in_context)), so that neither the agent nor its box need
    /// hold one.
    pub fn call_state<T: Send + Sync + 'static>(mut self) -> Self {
        self.call_state.push(Requirement::of::<T>());
        self
    }

    /// Lets the agent call the tools of the agent that calls it, beside its own. Default: only its
    /// own.
    ///
    /// The tools are those of the run above, what that inherits included, and are looked up again
    /// before each step: one that is registered above, replaced or taken out is so here from the
    /// next step on. Nothing is written into either box.
    ///
    /// - A tool of the agent's own wins over one of the same name.
    /// - What is blacklisted above, in the agent or in its box, may not be called here either.
    /// - Inherited tools keep the state and the layers of their box. The limits are those of this
    ///   agent's own box; its approver is asked, else that of the box above, else the agents'.
    /// - Agents among the tools are left out: an agent that is to call them has them
    ///   [added](Self::add_subagent).
    /// - What the agent returns counts as written by others (see [`Taint`](crate::context::Taint)),
    ///   since the tools above may be such.
    ///
    /// An agent that runs by itself inherits nothing.
    ///
    /// ```
    /// use toolbox::agent::Agent;
    /// use toolbox::testing::ScriptedModel;
    /// use toolbox::{tool, tools};
    ///
    /// /// Looks a word up.
    /// #[tool]
    /// fn lookup(word: &str) -> String {
    ///     format!("{word} is a word")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = ScriptedModel::new().calls("lookup", r#"{"word":"ibis"}"#).text("done");
    /// let clerk = Agent::builder(model).inherit_tools().build()?;
    /// let model = ScriptedModel::new().calls("clerk", r#"{"task":"go"}"#).text("ok");
    /// let boss = Agent::builder(model)
    ///     .tools(tools![lookup])
    ///     .add_subagent(clerk.as_tool("clerk", "Looks things up"))
    ///     .build()?;
    /// boss.run("What is an ibis?").await?;
    /// assert!(clerk.toolbox().definitions().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn inherit_tools(mut self) -> Self {
        self.settings.inherits = true;
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoTools) -> Self {
        self.tools.extend(tools.into_tools());
        self
    }

    /// Adds a tool; the same as [`AgentBuilder::tools`].
    pub fn tool(self, tool: impl IntoTools) -> Self {
        self.tools(tool)
    }

    /// Adds a tool; the same as [`AgentBuilder::tool`].
    pub fn add_tool(self, tool: impl IntoTools) -> Self {
        self.tools(tool)
    }

    /// Adds a tool from its raw parts: a name, a description, a JSON Schema, and a function of the
    /// parsed arguments.
    #[track_caller]
    pub fn raw_tool<Form>(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
        function: impl MapFn<Form>,
    ) -> Self {
        match Tool::try_from_map(name, description, input_schema, function) {
            Ok(tool) => self.tools.push(tool),
            Err(error) => self.fail(BuildAgentError::ToolName(error)),
        }
        self
    }

    /// Adds an agent as a tool: one made by [`Agent::as_tool`] or [`AgentBuilder::as_tool`], or a
    /// name, a description and the agent.
    pub fn add_subagent(mut self, subagent: impl IntoSubagent) -> Self {
        match subagent.into_subagent() {
            Ok(tool) => self.tools.push(tool),
            Err(error) => self.fail(error),
        }
        self
    }

    fn fail(&mut self, error: BuildAgentError) {
        self.error.get_or_insert(error);
    }

    /// Forbids tools by name, in runs of this agent and of the agents below it. The name may hold
    /// `*`.
    ///
    /// The model is not offered such a tool; when it calls one all the same, the tool does not run
    /// and the result says so.
    pub fn blacklist_tool(mut self, name: impl Into<String>) -> Self {
        self.rules.push(name.into());
        self
    }

    /// Runs the calls of one reply beside each other, or one after another. Default: beside each
    /// other.
    pub fn parallel_tools(mut self, parallel: bool) -> Self {
        self.settings.parallel = parallel;
        self
    }

    /// Sets the handling of background jobs when the model has its answer. Default
    /// [`JobPolicy::Wait`].
    pub fn jobs(mut self, policy: JobPolicy) -> Self {
        self.settings.jobs = policy;
        self
    }

    /// Sets the handling of a call whose tool failed for a reason outside the call. Default
    /// [`InfrastructurePolicy::Report`].
    pub fn on_infrastructure_failure(mut self, policy: InfrastructurePolicy) -> Self {
        self.settings.infrastructure = policy;
        self
    }

    /// Puts a text such as `ERROR: ` before the result of a failed call, for services without a
    /// flag for it. Default: nothing.
    pub fn error_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.settings.error_prefix = prefix.into();
        self
    }

    /// Sets the tool choice until a tool was called. Default: the model's own choice. Once it has
    /// called a tool, it may answer.
    ///
    /// A choice of one tool names a tool that the agent offers when it is built, or may
    /// [inherit](Self::inherit_tools). If it is gone when a run begins, the model chooses as it
    /// likes.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.settings.tool_choice = choice;
        self
    }

    /// Lets a model find deferred tools by the tool search of its service, and call them by their
    /// own names. Default: off.
    ///
    /// It takes the search tool of a `search::Gateway` in the box, which still runs the searches.
    /// Services that know the form (Anthropic, and `OpenAI` Responses with models of GPT-5.4 or
    /// later) then load what was found themselves; an older model may refuse the request. With any
    /// other service nothing changes. Nor does it in a box where deferred tools are called [through
    /// the gateway only](crate::ToolBoxBuilder::deferred_calls).
    pub fn native_tool_search(mut self, native: bool) -> Self {
        self.settings.native_search = native;
        self
    }

    /// Adds an option of the service, such as `temperature`, to every request.
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.options.insert(name.into(), value.into());
        self
    }

    /// Adds options of the service to every request.
    pub fn options(mut self, options: Map<String, Value>) -> Self {
        self.settings.options.extend(options);
        self
    }

    /// Decides on calls that need approval where neither the tool nor its box has an approver, in
    /// this run and below.
    ///
    /// Without one, such a call waits: the run stops, and [resumes](Agent::resume) with the
    /// decisions.
    pub fn approver(mut self, approver: impl Approver) -> Self {
        self.settings.approver = Some(Arc::new(approver));
        self
    }

    /// Returns the agent as a tool with a `task` argument; see [`Agent::as_tool`].
    ///
    /// # Errors
    ///
    /// As [`AgentBuilder::build`]; [`AgentBuilder::add_subagent`] takes the `Result` as it is.
    #[track_caller]
    pub fn as_tool(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Result<Tool, BuildAgentError> {
        self.build()?.try_as_tool(name, description).map_err(BuildAgentError::ToolName)
    }

    /// Returns the agent.
    ///
    /// # Errors
    ///
    /// [`BuildAgentError`], if there is no model, a tool's name is not one or is taken, a tool
    /// lacks a state, a blacklist rule names nothing, or the tool choice names no tool. A box that
    /// was given gets no tools then.
    pub fn build(self) -> Result<Agent, BuildAgentError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let model = match (self.model, self.backend) {
            (Some(model), _) => model,
            (None, Some(backend)) => backend(self.model_name, self.base_url),
            (None, None) => return Err(BuildAgentError::NoModel),
        };
        if self.settings.max_cost < UNLIMITED {
            let (provider, name) = (model.provider(), model.name());
            let prices = self.settings.prices.as_deref();
            let price = prices.and_then(|own| price_of(own, provider, name, &Usage::default()));
            if price.is_none() {
                let (provider, model) = (provider.to_owned(), name.to_owned());
                return Err(BuildAgentError::NoPrice { provider, model });
            }
        }
        let mut rules = Rules::default();
        for rule in &self.rules {
            InvalidRuleError::check(rule).map_err(BuildAgentError::Rule)?;
            rules.blacklist(ToolRule::new(rule));
        }
        let toolbox = self.toolbox.unwrap_or_else(|| own_box(&self.tools));
        if let ToolChoice::Tool(name) = &self.settings.tool_choice {
            let mut offered = self.tools.iter().map(Tool::definition).filter(|tool| !tool.deferred);
            let is_offered = self.settings.inherits
                || offered.any(|tool| tool.name == *name)
                || toolbox.snapshot().definitions().iter().any(|tool| tool.name == *name);
            let own = self.tools.iter().find(|tool| tool.name() == name).cloned();
            let tool = own.or_else(|| toolbox.get(name));
            let is_permitted = match &tool {
                Some(tool) => rules.permit_tool(tool.definition()),
                None => rules.permit(name),
            };
            if !is_offered || !toolbox.permits(name) || !is_permitted {
                return Err(BuildAgentError::ToolChoice(name.clone()));
            }
        }
        let state = (!self.state.is_empty()).then(|| Arc::new(self.state));
        let is_given = |requirement: &Requirement| {
            requirement.is_met_by(state.as_deref()) || requirement.is_among(&self.call_state)
        };
        let may_run =
            |tool: &Tool| toolbox.permits(tool.name()) && rules.permit_tool(tool.definition());
        toolbox.check_states(may_run, is_given).map_err(BuildAgentError::Tools)?;
        let bound = |tool: Tool| match &state {
            Some(state) if tool.requirements().next().is_some() => tool.bound_to(state),
            _ => tool,
        };
        if !self.tools.is_empty() {
            let tools = self.tools.into_iter().map(bound).collect();
            toolbox.register_given(tools, is_given).map_err(BuildAgentError::Tools)?;
        }
        Ok(Agent::from_inner(AgentInner {
            id: AgentId::new(),
            name: self.name,
            task: self.task,
            system: self.system,
            model,
            toolbox,
            state,
            rules: arc_swap::ArcSwap::from_pointee(rules),
            settings: self.settings,
        }))
    }
}

/// Returns the box of an agent that is given none. It keeps large results, unless a tool of the
/// agent has the name of the one that reads them.
#[cfg(feature = "results")]
fn own_box(tools: &[Tool]) -> ToolBox {
    if tools.iter().any(|tool| tool.name() == crate::results::RESULT_READ) {
        return ToolBox::new();
    }
    let built = ToolBox::builder().keep_results_by_transcript().build();
    built.unwrap_or_default()
}

#[cfg(not(feature = "results"))]
fn own_box(_tools: &[Tool]) -> ToolBox {
    ToolBox::new()
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("name", &self.name)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}
