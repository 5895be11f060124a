//! Handoffs: an agent gives its conversation to another.

use std::fmt;
use std::sync::Arc;

use serde_json::json;

use super::agent::Agent;
use super::run_scope::RunScope;
use crate::call::{Arguments, FailureKind, ToolResult};
use crate::context::ToolContext;
use crate::definition::{InvalidNameError, ToolDefinition};
use crate::model::History;
use crate::text::{QUOTED, quote};
use crate::tool::{HandsOver, Tool, ToolHandler};

/// The result of a call by which a conversation was handed over. It holds nothing that anybody
/// wrote.
pub(super) const HANDED_OVER: &str = "The conversation was handed over.";

/// A way for an agent to give its conversation to another, which goes on in its place.
///
/// The model is offered a tool, `transfer_to_{name}` with the name of the other agent. Once it has
/// called it, the other agent goes on in the same run, with its own instructions, tools, model and
/// limits. Other than with [`Agent::as_tool`], nothing comes back: the answer is that of the last
/// agent, and [`RunOutcome::agent`](super::RunOutcome::agent) names it.
///
/// - **What the run keeps**: its budgets, usage and deadline, its taint, depth and events, the
///   background jobs, and what was forbidden by the agents before. The limits of the next agent
///   hold beside those of the first: an agent that takes over has
///   [`max_iterations`](super::AgentBuilder::max_iterations) of its own, and counts its calls and
///   tokens from there.
/// - **The transcript** goes along, or else ([`without_history`](Self::without_history)) the next
///   agent begins with a message of the one before.
/// - **Other calls in the same reply** are made, and have their results before the next agent is
///   asked. A second handoff in one reply and an answer [of a type](super::Run::answering_with)
///   beside one are refused. While another call of the reply waits for a decision, the run is
///   paused, and is handed over when it is resumed.
/// - **It is a call like any other**: blacklists, approvals and layers hold for it, and while it is
///   refused, or [answered](crate::context::Decision::Answer) from outside, the conversation stays
///   where it is. A tool cannot make it, and neither can a call from
///   outside of a run.
/// - **Loops are bounded** by [`max_handoffs`](super::AgentBuilder::max_handoffs). Agents that may
///   hand a conversation back get their handoff as a tool once both are built: see
///   [`into_tool`](Self::into_tool).
///
/// ```
/// use toolbox::Agent;
/// use toolbox::agent::Handoff;
/// use toolbox::testing::ScriptedModel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let billing = Agent::builder(ScriptedModel::answering("You were charged once."))
///     .name("billing")
///     .system("You answer questions about invoices.")
///     .build()?;
/// let triage = Agent::builder(ScriptedModel::new().calls("transfer_to_billing", "{}"))
///     .name("triage")
///     .handoff(Handoff::to(&billing).described("For invoices and refunds."))
///     .build()?;
///
/// let outcome = triage.run("Was I charged twice?").await?;
/// assert_eq!(outcome.agent, "billing");
/// assert_eq!(outcome.content, "You were charged once.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a handoff is added to an agent: `AgentBuilder::handoff`"]
pub struct Handoff {
    agent: Agent,
    tool: Option<String>,
    description: Option<String>,
    transcript: HandedTranscript,
}

/// The transcript that the next agent begins with.
#[derive(Clone)]
enum HandedTranscript {
    Whole,
    Edited(Arc<dyn Fn(History) -> History + Send + Sync>),
    /// A message of the agent before, and nothing else.
    Fresh,
}

impl Handoff {
    /// Returns a handoff to an agent, with the transcript.
    pub fn to(agent: &Agent) -> Self {
        Self {
            agent: agent.clone(),
            tool: None,
            description: None,
            transcript: HandedTranscript::Whole,
        }
    }

    /// Names the tool. Default: `transfer_to_` and the name of the agent, with `_` for characters
    /// that names of tools may not have.
    pub fn named(mut self, tool: impl Into<String>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// Says when the conversation is to be handed over, in the description of the tool.
    pub fn described(mut self, when: impl Into<String>) -> Self {
        self.description = Some(when.into());
        self
    }

    /// Gives the next agent a transcript of its own. The tool then takes a `task`, which the next
    /// agent reads as the first message; it was written by a model, and not by the user (see
    /// [`Taint`](crate::context::Taint)).
    ///
    /// The history of the outcome is that of the next agent. A later run that goes on with it takes
    /// the task for the user's.
    pub fn without_history(mut self) -> Self {
        self.transcript = HandedTranscript::Fresh;
        self
    }

    /// Gives the next agent what `edit` makes of the transcript, which ends with the handoff.
    ///
    /// Where a durable run goes on from its log, it is called again.
    pub fn edit_history(
        mut self,
        edit: impl Fn(History) -> History + Send + Sync + 'static,
    ) -> Self {
        self.transcript = HandedTranscript::Edited(Arc::new(edit));
        self
    }

    /// Returns the handoff as a tool, for a box that exists already: so two agents can hand a
    /// conversation back and forth. They then keep each other in memory.
    ///
    /// ```
    /// use toolbox::Agent;
    /// use toolbox::agent::Handoff;
    /// use toolbox::testing::ScriptedModel;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let clerk = Agent::builder(ScriptedModel::answering("Done.")).name("clerk").build()?;
    /// let triage = Agent::builder(ScriptedModel::answering("Hello.")).handoff(&clerk).build()?;
    /// clerk.toolbox().register(Handoff::to(&triage).named("give_back").into_tool()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidNameError`] if the name is not one that tools may have.
    #[track_caller]
    pub fn into_tool(self) -> Result<Tool, InvalidNameError> {
        let agent = self.agent.name();
        let name = self.tool.unwrap_or_else(|| {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let agent: String = agent.chars().map(|c| if fits(c) { c } else { '_' }).collect();
            format!("transfer_to_{agent}")
        });
        let mut description =
            format!("Hands the conversation to `{}`, for good.", quote(agent, QUOTED));
        if let Some(when) = &self.description {
            description = format!("{description} {when}");
        }
        let is_fresh = matches!(self.transcript, HandedTranscript::Fresh);
        let schema = if is_fresh {
            json!({
                "type": "object",
                "properties": {"task": {"type": "string", "description": "What is to be done, with all that has to be known for it: nothing else of the conversation is handed over"}},
                "required": ["task"],
                "additionalProperties": false,
            })
        } else {
            json!({"type": "object", "properties": {}, "additionalProperties": false})
        };
        let mut definition = ToolDefinition::new(name, description, schema);
        // The call itself changes nothing: a run that goes on after its process died makes it
        // again.
        definition.annotations.idempotent = Some(true);
        definition.annotations.destructive = Some(false);
        let target = HandoffTarget { agent: self.agent, transcript: self.transcript };
        let target = Arc::new(target);
        let tool = Tool::try_from_handler(HandoffTool { target: Arc::clone(&target), definition })?;
        let next = &target.agent.inner;
        Ok(tool.handing_over(HandsOver {
            tools: Arc::new(next.toolbox.clone()),
            inherits: next.settings.inherits,
            to: target,
        }))
    }
}

impl From<&Agent> for Handoff {
    fn from(agent: &Agent) -> Self {
        Self::to(agent)
    }
}

impl From<Agent> for Handoff {
    fn from(agent: Agent) -> Self {
        Self::to(&agent)
    }
}

impl fmt::Debug for Handoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handoff").field("agent", &self.agent.name()).finish_non_exhaustive()
    }
}

/// The agent that a conversation is handed to, and the transcript it gets; carried by its tool.
pub(super) struct HandoffTarget {
    pub(super) agent: Agent,
    transcript: HandedTranscript,
}

impl HandoffTarget {
    /// Returns the target of a tool, if it is one that hands over.
    pub(super) fn of(tool: &Tool) -> Option<Arc<Self>> {
        let next = tool.inner().running.hands_over.as_ref()?;
        Arc::clone(&next.to).downcast().ok()
    }

    /// Returns `true` if the user wrote what the next agent reads first.
    pub(super) fn keeps_history(&self) -> bool {
        !matches!(self.transcript, HandedTranscript::Fresh)
    }

    /// Returns the transcript of the next agent.
    pub(super) fn transcript(&self, before: History, arguments: &Arguments) -> History {
        match &self.transcript {
            HandedTranscript::Whole => before,
            HandedTranscript::Edited(edit) => edit(before),
            HandedTranscript::Fresh => {
                #[derive(serde::Deserialize)]
                struct Task {
                    task: String,
                }
                let task = arguments.parse::<Task>().map(|arguments| arguments.task);
                History::from(task.unwrap_or_default())
            }
        }
    }
}

/// The tool by which a conversation is handed over: it decides if it may be, and the run does it.
struct HandoffTool {
    target: Arc<HandoffTarget>,
    definition: ToolDefinition,
}

impl ToolHandler for HandoffTool {
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    async fn call(&self, context: &ToolContext, _arguments: &str) -> ToolResult {
        let target = &self.target.agent;
        let name = quote(target.name(), QUOTED);
        let refuse = |why: String| {
            let text = format!("the conversation was not handed to `{name}`: {why}");
            ToolResult::refusal(FailureKind::TooDeep, text)
        };
        // Only the calls of a run itself can be deferred.
        let Some(scope) = context.get::<RunScope>().filter(|_| context.is_deferrable()) else {
            return refuse(
                "only the model of an agent hands over, by a call of its own".to_owned(),
            );
        };
        if scope.handoffs_left == 0 {
            return refuse("it was handed over as often as it may be".to_owned());
        }
        let most = target.inner.settings.max_depth;
        if context.depth() > most {
            return refuse(format!(
                "it works below no more than {} agents",
                most.saturating_sub(1)
            ));
        }
        let above = scope.agents.split_last().map_or(&[][..], |(_, above)| above);
        if above.contains(&target.inner.id) && !target.inner.settings.recursion {
            return refuse("that agent is at work above this call".to_owned());
        }
        ToolResult::new(HANDED_OVER)
    }
}
