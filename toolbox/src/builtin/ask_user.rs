//! A question to the user: `ask_user`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::call::ToolError;
use crate::context::ToolContext;
use crate::future::BoxFuture;
use crate::tool::Tool;
use crate::toolset;

/// A question of a model to the user.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Question {
    /// The text of the question. A model wrote it: show it as text.
    pub text: String,
    /// Answers it suggests; the user may give another one. Often none.
    pub options: Vec<String>,
    /// The context of the call, with its principal and conversation.
    pub context: ToolContext,
}

/// The answer to a question.
///
/// ```
/// use toolbox::builtin::ask_user::Answer;
///
/// assert_eq!(Answer::from("Tuesday"), Answer::Text("Tuesday".to_owned()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// The text of the user.
    Text(String),
    /// The user was asked, and does not want to answer.
    Declined,
    /// There is no user to ask.
    Nobody,
}

impl<T: Into<String>> From<T> for Answer {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

/// Puts questions to the user: any async closure from a [`Question`] to an [`Answer`].
///
/// ```
/// use toolbox::ToolBox;
/// use toolbox::builtin::ask_user::{Answer, AskUser, Question};
///
/// let ask = AskUser::new(|question: Question| async move {
///     match question.options.first() {
///         Some(option) => Answer::Text(option.clone()), // a program shows the question here
///         None => Answer::Declined,
///     }
/// });
/// let toolbox = ToolBox::from(ask);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot ask the user",
    label = "this puts no questions",
    note = "an async closure does: `|question: Question| async move {{ Answer::Nobody }}`"
)]
pub trait Ask: Send + Sync + 'static {
    /// Puts one question. The future is dropped when the answer is no longer awaited.
    fn ask(&self, question: Question) -> BoxFuture<'static, Answer>;
}

#[diagnostic::do_not_recommend]
impl<F, Fut> Ask for F
where
    F: Fn(Question) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    fn ask(&self, question: Question) -> BoxFuture<'static, Answer> {
        Box::pin(self(question))
    }
}

/// Lets a model ask the user: `ask_user` puts a question and gives the answer.
///
/// Several questions may come at once, of one conversation or of several. When a call is cancelled
/// or out of time, the future of the program that waits for the answer is dropped. A box that ends
/// calls [after a while](crate::ToolBoxBuilder::timeout) ends these, too.
///
/// ```
/// use toolbox::builtin::ask_user::{Answer, AskUser, Question};
/// use toolbox::{ToolBox, ToolCall};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let ask = AskUser::new(|question: Question| async move {
///     // Show `question.text`, wait for a line.
///     Answer::from(question.options.first().cloned().unwrap_or_default())
/// });
/// let toolbox = ToolBox::from(ask);
/// let arguments = r#"{"question": "Which one?", "options": ["red", "blue"]}"#;
/// let call = ToolCall::new("1", "ask_user", arguments);
/// assert_eq!(toolbox.call(call).await.text(), "the user answers: red");
/// # }
/// ```
pub struct AskUser {
    ask: Arc<dyn Ask>,
    timeout: Option<Duration>,
}

impl AskUser {
    /// Returns the tool over a function that puts questions.
    #[must_use]
    pub fn new(ask: impl Ask) -> Self {
        Self { ask: Arc::new(ask), timeout: None }
    }

    /// Returns the tool for a program without a user: each question fails at once, and says so.
    #[must_use]
    pub fn nobody() -> Self {
        Self::new(|_| async { Answer::Nobody })
    }

    /// Limits the time for an answer. Default: the limit of the call.
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

    /// Asks the user, and waits for the answer. Ask only what you need and cannot find out in another way.
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
        let question = Question { text: question.to_owned(), options, context: context.clone() };
        let answer = self.ask.ask(question);
        let answer = match self.timeout {
            None => answer.await,
            Some(limit) => tokio::time::timeout(limit, answer).await.map_err(|_| {
                ToolError::reported(format!(
                    "the user did not answer within {limit:?}; go on without, or say what you need to know"
                ))
            })?,
        };
        match answer {
            Answer::Text(text) if text.trim().is_empty() => {
                Ok("the user gave an empty answer".to_owned())
            }
            Answer::Text(text) => Ok(format!("the user answers: {text}")),
            Answer::Declined => Err("the user does not want to answer; go on without".into()),
            Answer::Nobody => Err("there is nobody to ask; go on without".into()),
        }
    }
}

impl fmt::Debug for AskUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskUser").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
