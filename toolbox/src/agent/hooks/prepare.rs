//! Hooks that run before each step.

use std::error::Error;

use serde_json::{Map, Value};

use super::form::{AnyForm, AtOnce, Awaited};
use crate::context::ToolContext;
use crate::definition::ToolDefinition;
use crate::dialect::Definitions;
use crate::future::BoxFuture;
use crate::model::{History, ToolChoice, Usage};

/// An error of a hook.
type HookError = Box<dyn Error + Send + Sync>;

/// The request of one step, before it is sent: what a [hook](PrepareStep) reads and may change.
///
/// A change holds for this step alone; each step begins with the settings of the agent. The tools
/// can be narrowed and not widened: those that the agent, its box or the context of the run forbid
/// are not among them, and one that is left out may not be called in this step, by the model or by
/// an agent that it calls.
#[derive(Debug, Clone)]
pub struct StepRequest {
    pub(in crate::agent) step: u32,
    pub(in crate::agent) agent: String,
    pub(in crate::agent) context: ToolContext,
    pub(in crate::agent) usage: Usage,
    pub(in crate::agent) history: History,
    pub(in crate::agent) system: Option<String>,
    pub(in crate::agent) options: Map<String, Value>,
    pub(in crate::agent) tools: Definitions,
    pub(in crate::agent) tool_choice: ToolChoice,
    pub(in crate::agent) max_result_tokens: Option<usize>,
}

impl StepRequest {
    /// Returns the number of the step, from one.
    #[must_use]
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Returns the name of the agent.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Returns the context of the run: its principal, its conversation, its states.
    #[must_use]
    pub fn context(&self) -> &ToolContext {
        &self.context
    }

    /// Returns the tokens that the run has used so far, with the agents below it.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the transcript, before it is shortened to the
    /// [length](crate::agent::AgentBuilder::max_context_tokens) of requests.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the instructions, if there are any.
    #[must_use]
    pub fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    /// Sets the instructions.
    pub fn set_system(&mut self, text: impl Into<String>) {
        self.system = Some(text.into());
    }

    /// Adds a paragraph to the instructions.
    pub fn add_to_system(&mut self, text: &str) {
        let system = self.system.get_or_insert_default();
        if !system.is_empty() {
            system.push_str("\n\n");
        }
        system.push_str(text);
    }

    /// Returns the options of the service, such as `temperature`.
    #[must_use]
    pub fn options(&self) -> &Map<String, Value> {
        &self.options
    }

    /// Sets an option of the service.
    pub fn set_option(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.options.insert(name.into(), value.into());
    }

    /// Removes an option of the service.
    pub fn remove_option(&mut self, name: &str) {
        self.options.remove(name);
    }

    /// Returns the tools that are offered, but for the one by which an answer [of a
    /// type](crate::agent::Run::answering_with) is given.
    #[must_use]
    pub fn tools(&self) -> &Definitions {
        &self.tools
    }

    /// Offers only the tools for which `keep` returns `true`. The others may not be called in this
    /// step.
    pub fn retain_tools(&mut self, keep: impl Fn(&ToolDefinition) -> bool) {
        self.tools = self.tools.shared().iter().filter(|tool| keep(tool)).cloned().collect();
    }

    /// Returns the choice of tools that the model has.
    #[must_use]
    pub fn tool_choice(&self) -> &ToolChoice {
        &self.tool_choice
    }

    /// Sets the choice of tools. One tool can be chosen if it is offered; else the run ends with an
    /// error.
    pub fn set_tool_choice(&mut self, choice: ToolChoice) {
        self.tool_choice = choice;
    }

    /// Sets the tokens of results that are passed on whole, for the calls of this step and those of
    /// agents below it, in place of the limits of tools and boxes.
    ///
    /// It counts where results are kept (`ToolBoxBuilder::keep_results`).
    /// When a durable run goes on from its log, calls that are made again have the usual limits.
    pub fn set_max_result_tokens(&mut self, tokens: usize) {
        self.max_result_tokens = Some(tokens);
    }
}

/// A hook that runs before each step of an agent, and may change the request of that step.
///
/// Closures are hooks: sync ones over a `&mut StepRequest`, which return nothing or a
/// `Result<(), E>`; async ones over a `StepRequest`, which return a `Result` of it. See
/// [`AgentBuilder::before_step`](crate::agent::AgentBuilder::before_step).
///
/// ```
/// use toolbox::agent::{PrepareStep, StepRequest};
/// use toolbox::context::Principal;
/// use toolbox::testing::ScriptedModel;
/// use toolbox::{Agent, BoxFuture, ToolContext};
///
/// struct Greeting(&'static str);
///
/// impl PrepareStep for Greeting {
///     fn prepare<'a>(
///         &'a self,
///         step: &'a mut StepRequest,
///     ) -> BoxFuture<'a, Result<(), Box<dyn std::error::Error + Send + Sync>>> {
///         Box::pin(async move {
///             let user = Principal::of(step.context());
///             step.add_to_system(&format!("{} {}.", self.0, user.as_str()));
///             Ok(())
///         })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::answering("Hello, Ada.");
/// let agent = Agent::builder(model.clone())
///     .before_step(Greeting("You talk to"))
///     // The first step may read, and no more.
///     .before_step(|step: &mut StepRequest| {
///         if step.step() == 1 {
///             step.retain_tools(|tool| tool.annotations.is_read_only());
///         }
///     })
///     .build()?;
/// agent.run("Hi").in_context(ToolContext::new().with(Principal::new("Ada"))).await?;
/// assert_eq!(model.requests()[0].system.as_deref(), Some("You talk to Ada."));
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no hook before a step",
    label = "cannot prepare the request of a step",
    note = "a hook is a closure: `|step: &mut StepRequest| step.set_system(\"..\")`, or `|mut step: StepRequest| async move {{ Ok::<_, E>(step) }}`"
)]
pub trait PrepareStep<Form = ()>: Send + Sync + 'static {
    /// Prepares the request of a step.
    ///
    /// # Errors
    ///
    /// An error ends the run with its text.
    fn prepare<'a>(
        &'a self,
        step: &'a mut StepRequest,
    ) -> BoxFuture<'a, Result<(), Box<dyn Error + Send + Sync>>>;
}

/// Marks closures that return nothing, and cannot fail.
#[derive(Debug)]
pub enum Infallibly {}

#[diagnostic::do_not_recommend]
impl<F> PrepareStep<Infallibly> for F
where
    F: Fn(&mut StepRequest) + Send + Sync + 'static,
{
    fn prepare<'a>(&'a self, step: &'a mut StepRequest) -> BoxFuture<'a, Result<(), HookError>> {
        Box::pin(async move {
            self(step);
            Ok(())
        })
    }
}

#[diagnostic::do_not_recommend]
impl<F, E> PrepareStep<AtOnce> for F
where
    F: Fn(&mut StepRequest) -> Result<(), E> + Send + Sync + 'static,
    E: Into<HookError>,
{
    fn prepare<'a>(&'a self, step: &'a mut StepRequest) -> BoxFuture<'a, Result<(), HookError>> {
        Box::pin(async move { self(step).map_err(Into::into) })
    }
}

#[diagnostic::do_not_recommend]
impl<F, Fut, E> PrepareStep<Awaited> for F
where
    F: Fn(StepRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<StepRequest, E>> + Send,
    E: Into<HookError>,
{
    fn prepare<'a>(&'a self, step: &'a mut StepRequest) -> BoxFuture<'a, Result<(), HookError>> {
        Box::pin(async move {
            *step = self(step.clone()).await.map_err(Into::into)?;
            Ok(())
        })
    }
}

impl<P: PrepareStep<Form>, Form: 'static> PrepareStep for AnyForm<P, Form> {
    fn prepare<'a>(&'a self, step: &'a mut StepRequest) -> BoxFuture<'a, Result<(), HookError>> {
        self.hook.prepare(step)
    }
}
