//! Agents as tools of other agents.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::agent::Agent;
use super::log::LogScope;
use super::outcome::RunOutcome;
use super::run::Run;
use super::run_scope::RunScope;
use super::step::AnswerType;
use crate::call::{Arguments, FailureKind, ToolError, ToolResult};
use crate::context::ToolContext;
use crate::definition::{InvalidNameError, ToolDefinition};
use crate::event::StopReason;
use crate::model::History;
use crate::schema;
use crate::tool::{Tool, ToolHandler, made};

impl Agent {
    /// Returns the agent as a tool with one argument, `task`: the model of another agent calls it
    /// with what is to be done, and reads the answer.
    ///
    /// Each call has a transcript of its own. What the caller may not call, this agent may not
    /// either; it is cancelled with its caller, has what is left of its time and budget, and its
    /// events arrive where the caller's do. An agent that is at work already is not started again
    /// below itself, and no more than [`max_depth`](super::AgentBuilder::max_depth) agents work
    /// above one another. The call has no time limit but the caller's.
    ///
    /// ```
    /// use toolbox::agent::Agent;
    /// use toolbox::testing::ScriptedModel;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let math = Agent::builder(ScriptedModel::answering("42")).build()?;
    /// let model = ScriptedModel::new().calls("math", r#"{"task": "6 * 7"}"#).text("It is 42.");
    /// let boss = Agent::builder(model)
    ///     .add_subagent(math.as_tool("math", "Works out sums; give it the whole sum"))
    ///     .build()?;
    /// assert_eq!(boss.run("What is 6 * 7?").await?.content, "It is 42.");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If the name is not one that tools may have; [`Agent::try_as_tool`] takes names from outside
    /// the program.
    #[must_use]
    #[track_caller]
    pub fn as_tool(&self, name: impl Into<String>, description: impl Into<String>) -> Tool {
        made(self.try_as_tool(name, description))
    }

    /// Returns the agent as a tool, like [`Agent::as_tool`].
    ///
    /// # Errors
    ///
    /// [`InvalidNameError`] if the name is not one that tools may have.
    #[track_caller]
    pub fn try_as_tool(
        &self,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Result<Tool, InvalidNameError> {
        let schema = json!({
            "type": "object",
            "properties": {"task": {"type": "string", "description": "What is to be done, with all that has to be known for it"}},
            "required": ["task"],
            "additionalProperties": false,
        });
        self.tool(ToolDefinition::new(name, description, schema), FirstMessage::Task, None)
    }

    /// Returns the agent as a tool whose arguments are those of `I` and whose result is an `O`.
    ///
    /// The agent is given the arguments as JSON, and asked for [an answer of that
    /// type](Run::answering_with), which the caller gets as `O` serializes.
    ///
    /// # Panics
    ///
    /// If the name is not one that tools may have.
    #[must_use]
    #[track_caller]
    pub fn as_typed_tool<I, O>(
        &self,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Tool
    where
        I: DeserializeOwned + JsonSchema,
        O: DeserializeOwned + Serialize + JsonSchema + 'static,
    {
        let definition = ToolDefinition::new(name, description, schema::for_input::<I>());
        let answer = AnswerType::written::<O>();
        made(self.tool(definition, FirstMessage::Arguments, Some(answer)))
            .with_output_schema(schema::for_output::<O>())
    }

    #[track_caller]
    fn tool(
        &self,
        definition: ToolDefinition,
        input: FirstMessage,
        answer: Option<AnswerType>,
    ) -> Result<Tool, InvalidNameError> {
        let agent = self.clone();
        let start = move |_: &ToolContext, arguments: &str| {
            let run = Run::new(agent.clone(), History::from(input.of(arguments)?));
            Ok(match &answer {
                Some(answer) => run.answering(answer.clone()),
                None => run,
            })
        };
        let tool = AgentTool::of(definition, Box::new(start))?;
        let tool = tool.starting_a_run(Some(Arc::new(self.inner.toolbox.clone())));
        // Which tools it inherits is not known before it is called.
        Ok(if self.inner.settings.inherits { tool.untrusted() } else { tool })
    }
}

/// Returns a tool whose calls each start the run that a function returns for their arguments: of an
/// agent that is made for the call, or chosen by it.
///
/// Such a run stands below the one that makes the call, as that of [`Agent::as_tool`] does: it is
/// cancelled with it, spends its time and budgets, reports to its events, counts for its depth,
/// and pauses and resumes with it. When a run goes on after a pause, the function is called again,
/// and the agent of the run that it returns goes on with the transcript of the pause. The call has
/// no time limit but the caller's. Its result is untrusted if the result of a call below is.
///
/// ```
/// use toolbox::agent::{Agent, tool_from_fn};
/// use toolbox::call::ToolError;
/// use toolbox::testing::ScriptedModel;
/// use toolbox::{ToolBox, ToolCall, ToolDefinition};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let schema = serde_json::json!({"type": "object"});
/// let definition = ToolDefinition::new("research", "Looks something up", schema);
/// let tool = tool_from_fn(definition, |_context, arguments| {
///     let agent = Agent::builder(ScriptedModel::answering("Found.")).build();
///     Ok(agent.map_err(ToolError::infrastructure)?.run(arguments))
/// })?;
/// let result = ToolBox::from(tool).call(ToolCall::new("1", "research", "{}")).await;
/// assert_eq!(result.text(), "Found.");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`InvalidNameError`] if the name of the definition is not one that tools may have.
#[track_caller]
pub fn tool_from_fn<F>(definition: ToolDefinition, start: F) -> Result<Tool, InvalidNameError>
where
    F: Fn(&ToolContext, &str) -> Result<Run, ToolError> + Send + Sync + 'static,
{
    Ok(AgentTool::of(definition, Box::new(start))?.starting_a_run(None))
}

/// The part of a call that becomes the first message.
#[derive(Clone, Copy)]
enum FirstMessage {
    Task,
    Arguments,
}

impl FirstMessage {
    fn of(self, arguments: &str) -> Result<String, ToolError> {
        #[derive(serde::Deserialize)]
        struct Task {
            task: String,
        }
        match self {
            Self::Arguments => Ok(arguments.to_owned()),
            Self::Task => {
                let read = Arguments::from(arguments).parse::<Task>();
                read.map(|arguments| arguments.task).map_err(|error| error.to_string().into())
            }
        }
    }
}

/// Returns the run that a call starts.
type StartRun = dyn Fn(&ToolContext, &str) -> Result<Run, ToolError> + Send + Sync;

struct AgentTool {
    name: Arc<str>,
    definition: ToolDefinition,
    start: Box<StartRun>,
}

impl ToolHandler for AgentTool {
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    async fn call(&self, context: &ToolContext, arguments: &str) -> ToolResult {
        let above = context.get::<RunScope>();
        let run = match (self.start)(context, arguments) {
            Ok(run) => run,
            Err(error) => return error.into(),
        };
        if let Err(refusal) = self.may_start(context, above, run.agent()) {
            return refusal;
        }
        let run = Self::run(&self.name, context, above, run);
        let is_typed = run.is_typed();
        // In a box: an agent below an agent is the same future again.
        match Box::pin(run.in_context(context.for_agent_below()).into_future()).await {
            Ok(outcome) => self.result(outcome, is_typed, context, above),
            Err(error) => ToolError::infrastructure(error)
                .with_message(format!("agent `{}` failed", self.name))
                .into(),
        }
    }
}

impl AgentTool {
    #[track_caller]
    fn of(definition: ToolDefinition, start: Box<StartRun>) -> Result<Tool, InvalidNameError> {
        let name = Arc::from(definition.name.as_str());
        Ok(Tool::try_from_handler(Self { name, definition, start })?.without_timeout())
    }

    /// Checks that one more agent may start below those at work.
    fn may_start(
        &self,
        context: &ToolContext,
        above: Option<&RunScope>,
        agent: &Agent,
    ) -> Result<(), ToolResult> {
        let inner = &agent.inner;
        let limit = above.map_or(u32::MAX, |above| above.max_depth).min(inner.settings.max_depth);
        let at_work = above.is_some_and(|scope| scope.agents.contains(&inner.id));
        let text = if at_work && !inner.settings.recursion {
            format!(
                "agent `{}` is at work above this call: it cannot be called from below",
                self.name
            )
        } else if context.depth() >= limit {
            format!(
                "agent `{}` was not started: {} agents are at work above one another, and no more may be",
                self.name,
                context.depth()
            )
        } else {
            return Ok(());
        };
        tracing::warn!(agent = &*self.name, depth = context.depth(), "an agent was not started");
        Err(ToolResult::refusal(FailureKind::TooDeep, text))
    }

    /// Puts a run below the one that makes the call; it goes on from its pause, if it has one.
    fn run(name: &Arc<str>, context: &ToolContext, above: Option<&RunScope>, run: Run) -> Run {
        let resumed = above.and_then(|scope| scope.nested.resumed.take(context.call_id()));
        let run = match resumed {
            Some((paused, decisions)) => run.going_on_from(paused, decisions),
            None => run,
        };
        // Where the calls of the run above are logged, this run has a log of its own.
        let scope = context.recorder().and_then(|_| context.extension::<LogScope>());
        let pauses = above.is_some() && context.is_deferrable();
        run.called(name, pauses).logged(scope.map(|scope| scope.below(context.call_id())))
    }

    fn result(
        &self,
        outcome: RunOutcome,
        is_typed: bool,
        context: &ToolContext,
        above: Option<&RunScope>,
    ) -> ToolResult {
        let (name, text) = (&self.name, &outcome.content);
        let stopped = |why: &str| {
            let detail = if text.is_empty() { String::new() } else { format!(": {text}") };
            ToolResult::error(format!("agent `{name}` {why}{detail}"))
        };
        match outcome.reason {
            StopReason::Answered if is_typed => ToolResult::structured(outcome.content),
            StopReason::Answered => ToolResult::new(outcome.content),
            StopReason::MaxIterations => stopped("was not done when its steps were used up"),
            StopReason::TimedOut => stopped("was not done in time"),
            StopReason::Refused => stopped("refused"),
            StopReason::Length => stopped("was cut off"),
            StopReason::AnswerInvalid => stopped("gave no answer of the form it was asked for"),
            StopReason::InputBlocked | StopReason::OutputBlocked => {
                let reason = outcome.blocked.unwrap_or_default();
                ToolResult::error(format!("agent `{name}` was stopped by a guard: {reason}"))
            }
            StopReason::NoAnswer => stopped("gave no answer"),
            StopReason::Repeated => stopped("repeated itself and was stopped"),
            StopReason::Budget | StopReason::Cost => ToolResult::refusal(
                FailureKind::OverBudget,
                format!("agent `{name}` was stopped: what may be spent is spent"),
            ),
            StopReason::Cancelled => {
                ToolResult::refusal(FailureKind::Cancelled, format!("agent `{name}` was cancelled"))
            }
            StopReason::ContextFull => stopped("could not go on, since its context is full"),
            StopReason::ApprovalNeeded | StopReason::AnswerNeeded | StopReason::Paused => {
                let above = above.filter(|_| context.is_deferrable());
                if let (Some(paused), Some(above)) = (outcome.paused, above) {
                    above.nested.paused.put(context.call_id(), paused);
                    let text = format!("agent `{name}` waits for an approval or an answer");
                    return ToolResult::refusal(FailureKind::Deferred, text);
                }
                let text = format!("agent `{name}` needs an approval, and nobody here can give it");
                ToolResult::refusal(FailureKind::NotApproved, text)
            }
        }
    }
}
