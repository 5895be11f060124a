//! Forms of agents as tools of others.

use super::{AgentBuilder, BuildAgentError};
use crate::agent::Agent;
use crate::tool::Tool;

/// A value that can be added as an agent below another; see [`AgentBuilder::add_subagent`].
///
/// ```
/// use toolbox::Agent;
/// use toolbox::testing::ScriptedModel;
///
/// let researcher = Agent::builder(ScriptedModel::new().text("It rains."));
/// let boss = Agent::builder(ScriptedModel::new().text("done"))
///     .add_subagent(("research", "Finds things out", researcher))
///     .build()
///     .unwrap();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be added as a subagent",
    label = "needs a name and a description that the model reads",
    note = "an agent becomes one with `agent.as_tool(name, description)`, or as `(name, description, agent)`"
)]
pub trait IntoSubagent {
    /// Returns the tool that runs the agent.
    ///
    /// # Errors
    ///
    /// [`BuildAgentError`] if the agent cannot be built, or the name is not one that tools may
    /// have.
    fn into_subagent(self) -> Result<Tool, BuildAgentError>;
}

impl IntoSubagent for Tool {
    fn into_subagent(self) -> Result<Tool, BuildAgentError> {
        Ok(self)
    }
}

impl IntoSubagent for Result<Tool, BuildAgentError> {
    fn into_subagent(self) -> Result<Tool, BuildAgentError> {
        self
    }
}

impl<N: Into<String>, D: Into<String>> IntoSubagent for (N, D, Agent) {
    fn into_subagent(self) -> Result<Tool, BuildAgentError> {
        let (name, description, agent) = self;
        agent.try_as_tool(name, description).map_err(BuildAgentError::ToolName)
    }
}

impl<N: Into<String>, D: Into<String>> IntoSubagent for (N, D, AgentBuilder) {
    fn into_subagent(self) -> Result<Tool, BuildAgentError> {
        let (name, description, agent) = self;
        agent.as_tool(name, description)
    }
}
