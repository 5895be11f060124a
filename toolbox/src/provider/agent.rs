//! Agent builders that take a service's key in place of a model.

#[cfg(feature = "anthropic")]
use super::Anthropic;
#[cfg(feature = "gemini")]
use super::Gemini;
#[cfg(feature = "openai")]
use super::OpenAi;
use crate::agent::AgentBuilder;

impl AgentBuilder {
    /// Sets `OpenAI` as the service, with a key. [`model`](Self::model) names the model; without
    /// it, it is [`OpenAi::DEFAULT_MODEL`](crate::provider::OpenAi::DEFAULT_MODEL).
    ///
    /// ```no_run
    /// use toolbox::agent::AgentBuilder;
    /// use toolbox::Tool;
    ///
    /// # fn run(key: &str, calculator: Tool) -> Result<(), toolbox::agent::BuildAgentError> {
    /// let math = AgentBuilder::new("math")
    ///     .openai(key)
    ///     .add_tool(calculator)
    ///     .as_tool("math_specialist", "A specialist for complex mathematical proofs.");
    ///
    /// let agent = AgentBuilder::new("Prove that there is no largest prime")
    ///     .openai(key)
    ///     .model("gpt-5")
    ///     .add_subagent(math)
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "openai")]
    pub fn openai(self, key: impl Into<String>) -> Self {
        self.service(key, OpenAi::DEFAULT_MODEL, OpenAi::new, OpenAi::base_url)
    }

    /// Sets Anthropic as the service, with a key. [`model`](Self::model) names the model; without
    /// it, it is [`Anthropic::DEFAULT_MODEL`](crate::provider::Anthropic::DEFAULT_MODEL).
    #[cfg(feature = "anthropic")]
    pub fn anthropic(self, key: impl Into<String>) -> Self {
        self.service(key, Anthropic::DEFAULT_MODEL, Anthropic::new, Anthropic::base_url)
    }

    /// Sets Gemini as the service, with a key. [`model`](Self::model) names the model; without it,
    /// it is [`Gemini::DEFAULT_MODEL`](crate::provider::Gemini::DEFAULT_MODEL).
    #[cfg(feature = "gemini")]
    pub fn gemini(self, key: impl Into<String>) -> Self {
        self.service(key, Gemini::DEFAULT_MODEL, Gemini::new, Gemini::base_url)
    }
}
