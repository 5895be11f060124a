//! The length of an agent's requests.

use std::sync::Arc;

use super::AgentBuilder;
use crate::agent::window::{CaughtCounter, ContextRule};
use crate::dialect::TokenCounter;

impl AgentBuilder {
    /// Limits the tokens of each request: the system text, the definitions and the transcript.
    /// Default: no limit. The reply of the model is not counted: leave room for it.
    ///
    /// A longer request is shortened by the [rules](Self::context_rules) before it goes out, to 70
    /// % of the limit where they can. What is shortened stays so, in the
    /// [history](crate::agent::RunOutcome::history) of the outcome too;
    /// [events](crate::agent::EventKind) carry what was taken out. A run whose request still is too
    /// long ends with
    /// [`StopReason::ContextFull`](crate::agent::StopReason::ContextFull). If the service refuses a
    /// request as too long all the same, it is shortened further, to half of what it was, and sent
    /// once more.
    ///
    /// ```
    /// use toolbox::agent::Agent;
    /// use toolbox::testing::ScriptedModel;
    /// use toolbox::{tool, tools};
    ///
    /// /// Reads a page of the log.
    /// #[tool]
    /// fn page(number: u32) -> String {
    ///     format!("{number}: {}", "nothing happened; ".repeat(200))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = (0..30).fold(ScriptedModel::new(), |model, page| {
    ///     model.calls("page", format!(r#"{{"number": {page}}}"#))
    /// });
    /// let agent = Agent::builder(model.text("All quiet."))
    ///     .tools(tools![page])
    ///     .max_iterations(40)
    ///     .max_context_tokens(5_000)
    ///     .build()?;
    /// let outcome = agent.run("What happened?").await?;
    /// assert_eq!(outcome.content, "All quiet.");
    /// assert_eq!(outcome.history.last_user_text().unwrap(), "What happened?");
    /// # Ok(())
    /// # }
    /// ```
    pub fn max_context_tokens(mut self, tokens: usize) -> Self {
        self.settings.context.max_tokens = Some(tokens.max(1));
        self
    }

    /// Sets the rules by which a transcript is shortened, in order. Default:
    /// [`ContextRule::old_results(3)`](ContextRule::old_results), then
    /// [`ContextRule::drop_oldest`].
    pub fn context_rules(mut self, rules: impl IntoIterator<Item = ContextRule>) -> Self {
        self.settings.context.rules = rules.into_iter().collect();
        self
    }

    /// Sets the counter of tokens. Default: [an estimate](crate::dialect::EstimatedTokens), which
    /// also stands in for a counter that panics.
    pub fn token_counter(mut self, counter: impl TokenCounter) -> Self {
        self.settings.context.counter = Arc::new(CaughtCounter(counter));
        self
    }
}
