//! A question to the user: `ask_user`.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use crate::call::ToolError;
use crate::context::ToolContext;
use crate::tool::Tool;
use crate::toolset;

/// Lets a model ask the user: `ask_user` puts a question and gives the answer.
///
/// The question goes to the asker of the call or of the box, as that of any tool does: see
/// [`ToolContext::ask`]. Several may come at once, of one conversation or of several. When a call
/// is cancelled or out of time, the future of the asker is dropped.
///
/// ```
/// use toolbox::builtin::ask_user::AskUser;
/// use toolbox::context::{Answer, Question};
/// use toolbox::{ToolBox, ToolCall};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let toolbox = ToolBox::builder()
///     .tools(AskUser::new())
///     .asker(|question: Question| async move {
///         // Show `question.message`, wait for a line.
///         Answer::from(question.options().first().copied().unwrap_or_default())
///     })
///     .build()
///     .unwrap();
/// let arguments = r#"{"question": "Which one?", "options": ["red", "blue"]}"#;
/// let call = ToolCall::new("1", "ask_user", arguments);
/// assert_eq!(toolbox.call(call).await.text(), "the user answers: red");
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct AskUser {
    timeout: Option<Duration>,
}

impl AskUser {
    /// Returns the tool. Without an asker, each question fails at once, and says so.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the time for an answer. Default: none but the deadline of the call.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

#[toolset(with = Self::allow_found_urls)]
impl AskUser {
    /// Allows URLs in the user's answer to be fetched.
    fn allow_found_urls(_: &Arc<Self>, tool: Tool) -> Tool {
        tool.showing_urls()
    }

    #[doc = " Asks the user, and waits for the answer. Ask only what you need and cannot find out \
        in another way."]
    #[tool(open_world, tags("user"))]
    async fn ask_user(
        &self,
        /// The question
        #[arg(length = 1..=2000)]
        question: &str,
        /// Answers to choose from; the user may give another
        #[arg(default, length = ..=10)]
        options: Vec<String>,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        if question.trim().is_empty() {
            return Err("`question` is empty".into());
        }
        let ask = context.ask::<String>(question).suggest(options).into_future();
        let answer = match self.timeout {
            None => ask.await,
            Some(limit) => tokio::time::timeout(limit, ask).await.map_err(|_| {
                ToolError::reported(format!(
                    "the user did not answer within {limit:?}; go on without, or say what you need to know"
                ))
            })?,
        };
        match answer {
            Ok(text) if text.trim().is_empty() => Ok("the user gave an empty answer".to_owned()),
            Ok(text) => Ok(format!("the user answers: {text}")),
            Err(error) => Err(format!("{error}; go on without").into()),
        }
    }
}
