//! The messages of a prompt as a transcript.

use crate::call::{Content, Role};
use crate::model::History;
use crate::prompt::RenderedPrompt;

impl RenderedPrompt {
    /// Returns the messages as a transcript (feature `agent`), for a model or an agent to go on
    /// with.
    ///
    /// Messages of the user in a row are one, with a part for each. Those of the assistant become
    /// replies: their text and their links, since a reply has no other parts; one without a text is
    /// left out.
    ///
    /// ```
    /// use toolbox::model::Message;
    /// use toolbox::prompt::{PromptMessage, RenderedPrompt};
    /// use toolbox::testing::ScriptedModel;
    /// use toolbox::Agent;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let prompt = RenderedPrompt::new([
    ///     PromptMessage::user("Name a prime number."),
    ///     PromptMessage::assistant("Seven."),
    ///     PromptMessage::user("A larger one."),
    /// ]);
    /// let agent = Agent::builder(ScriptedModel::answering("Eleven.")).build()?;
    /// let outcome = agent.run_task().with_history(prompt.into_history()).await?;
    /// assert_eq!(outcome.content, "Eleven.");
    /// assert!(matches!(outcome.history.messages()[1], Message::Step(_)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn into_history(self) -> History {
        let mut history = History::new();
        let mut parts: Vec<Content> = Vec::new();
        for message in self.messages {
            match message.role {
                Role::User => parts.push(message.content),
                Role::Assistant => {
                    if let Some(text) = message.content.to_text() {
                        if !parts.is_empty() {
                            history.push_user(std::mem::take(&mut parts));
                        }
                        history.push_reply(text);
                    }
                }
            }
        }
        if !parts.is_empty() {
            history.push_user(parts);
        }
        history
    }
}
