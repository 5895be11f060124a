//! A model's reply: text, calls, and opaque parts that go back to its service unchanged.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::ToolCall;
use crate::dialect::Dialect;

/// One reply of a model: its parts in order, and the reason why it stopped.
///
/// ```
/// use toolbox::ToolCall;
/// use toolbox::model::{Finish, Reply};
///
/// let answer = Reply::text("It rains.");
/// assert_eq!(answer.content(), "It rains.");
/// let calls = Reply::calls([ToolCall::new("1", "weather", r#"{"city":"Paris"}"#)]);
/// assert_eq!((calls.tool_calls().count(), calls.finish), (1, Finish::Calls));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reply {
    /// Text, calls and the rest, in the order they came.
    pub parts: Vec<Part>,
    /// The reason why the model stopped.
    pub finish: Finish,
}

/// The calls among parts, in order.
struct CallsOf<'a>(std::slice::Iter<'a, Part>);

impl<'a> Iterator for CallsOf<'a> {
    type Item = &'a ToolCall;

    fn next(&mut self) -> Option<&'a ToolCall> {
        self.0.find_map(|part| match part {
            Part::Call { call, .. } => Some(call),
            _ => None,
        })
    }
}

impl Reply {
    /// Returns a reply of parts; it has calls to run, or is an answer.
    #[must_use]
    pub fn new(parts: Vec<Part>) -> Self {
        let calls = parts.iter().any(|part| matches!(part, Part::Call { .. }));
        Self { parts, finish: if calls { Finish::Calls } else { Finish::Stop } }
    }

    /// Returns a reply that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![Part::text(text)])
    }

    /// Returns a reply that makes calls.
    pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self::new(calls.into_iter().map(Part::call).collect())
    }

    /// Returns the reply with another reason why the model stopped.
    #[must_use]
    pub fn with_finish(mut self, finish: Finish) -> Self {
        self.finish = finish;
        self
    }

    /// Returns the text of the reply: its text parts, one after another.
    #[must_use]
    pub fn content(&self) -> Cow<'_, str> {
        let mut texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text, .. } if !text.is_empty() => Some(text.as_str()),
            _ => None,
        });
        match (texts.next(), texts.next()) {
            (None, _) => Cow::Borrowed(""),
            (Some(only), None) => Cow::Borrowed(only),
            (Some(first), Some(second)) => {
                let mut all = [first, second].concat();
                texts.for_each(|text| all.push_str(text));
                Cow::Owned(all)
            }
        }
    }

    /// Returns the calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        CallsOf(self.parts.iter())
    }

    /// Returns `true` if no part of it can be sent back to a service.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        // Services take no reasoning that nothing follows, unless they asked for it.
        let goes_on = self.finish == Finish::Pause;
        self.parts.iter().all(|part| match part {
            Part::Text { text, echo } => text.trim().is_empty() && echo.is_none(),
            Part::Reasoning { echo, .. } => echo.is_none() || !goes_on,
            Part::Call { .. } | Part::Other(_) => false,
        })
    }

    /// Returns `true` if the reply has neither text, nor calls, nor a result that its service made.
    pub(crate) fn says_nothing(&self) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Text { text, .. } => text.trim().is_empty(),
            Part::Reasoning { .. } => true,
            Part::Call { .. } => false,
            // What is no item or block of the service stands beside them.
            Part::Other(echo) => echo.value.get("type").is_none(),
        })
    }
}

/// One part of a reply.
///
/// ```
/// use toolbox::ToolCall;
/// use toolbox::model::{Part, Reply};
///
/// let reply = Reply::new(vec![
///     Part::text("I look it up."),
///     Part::call(ToolCall::new("1", "weather", r#"{"city":"Paris"}"#)),
/// ]);
/// assert_eq!(reply.content(), "I look it up.");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Part {
    /// Text of the answer.
    Text {
        /// The text.
        text: String,
        /// The opaque part that goes back with it to the service it came from.
        echo: Option<Echo>,
    },
    /// A call the model wants made.
    Call {
        /// The call.
        call: ToolCall,
        /// The opaque part that goes back with it to the service it came from.
        echo: Option<Echo>,
    },
    /// The model's reasoning before its answer: never the answer, never sent to another service.
    Reasoning {
        /// The text of it that the service discloses; may be empty.
        text: String,
        /// The part in the form that the service needs back.
        echo: Option<Echo>,
    },
    /// A part that only its service understands, such as a search that it made itself.
    Other(Echo),
}

impl Part {
    /// Returns a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), echo: None }
    }

    /// Returns a part that makes a call.
    #[must_use]
    pub fn call(call: ToolCall) -> Self {
        Self::Call { call, echo: None }
    }

    /// Returns the opaque value of this part for the service of `dialect`, if it came from there.
    #[must_use]
    pub fn echo(&self, dialect: Dialect) -> Option<&Value> {
        let echo = match self {
            Self::Text { echo, .. } | Self::Call { echo, .. } | Self::Reasoning { echo, .. } => {
                echo.as_ref()
            }
            Self::Other(echo) => Some(echo),
        };
        echo.filter(|echo| echo.dialect == dialect).map(|echo| &echo.value)
    }
}

/// An opaque value that must go back to the service it came from, byte for byte where that matters:
/// a thinking block, a reasoning item, a thought signature.
///
/// A transcript that moves to another service leaves it behind.
///
/// ```
/// use serde_json::json;
/// use toolbox::dialect::Dialect;
/// use toolbox::model::{Echo, Part};
///
/// let block = json!({"type": "redacted_thinking", "data": "EmwKAhgB"});
/// let part = Part::Other(Echo::new(Dialect::Anthropic, block.clone()));
/// assert_eq!(part.echo(Dialect::Anthropic), Some(&block));
/// assert_eq!(part.echo(Dialect::Gemini), None); // another service would not understand it
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Echo {
    /// The form it is written in.
    pub dialect: Dialect,
    /// The value to send; its shape is up to that service.
    pub value: Value,
}

impl Echo {
    /// Returns an opaque value for services of `dialect`.
    #[must_use]
    pub fn new(dialect: Dialect, value: Value) -> Self {
        Self { dialect, value }
    }
}

/// The reason why a model stopped.
///
/// ```
/// use toolbox::model::{Finish, Reply};
///
/// let cut = Reply::text("Once upon a").with_finish(Finish::Length);
/// assert_eq!(cut.finish, Finish::Length);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Finish {
    /// The reply is complete.
    Stop,
    /// The model waits for the results of its calls.
    Calls,
    /// The reply reached a limit of tokens and is cut off; its calls are never run.
    Length,
    /// The model or its service refused to go on; calls of such a reply are never run.
    Refusal,
    /// The service paused; sending the transcript again lets it go on.
    Pause,
    /// The model wrote a call that its service could not read.
    MalformedCall,
    /// The model or its service failed before the reply was complete, in the service's own word,
    /// such as `network_error`; calls of such a reply are never run.
    Failed(String),
    /// Another reason, in the service's own word; counts as done.
    Other(String),
}

impl Finish {
    /// Returns `true` if calls of the reply may be run.
    #[must_use]
    pub fn allows_calls(&self) -> bool {
        !matches!(self, Self::Length | Self::Refusal | Self::MalformedCall | Self::Failed(_))
    }
}

impl fmt::Display for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stop => "stop",
            Self::Calls => "calls",
            Self::Length => "length",
            Self::Refusal => "refusal",
            Self::Pause => "pause",
            Self::MalformedCall => "malformed_call",
            Self::Failed(reason) | Self::Other(reason) => reason,
        })
    }
}

/// A reply with its usage and metadata.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelResponse {
    /// The reply.
    pub reply: Reply,
    /// The tokens that it cost.
    pub usage: Usage,
    /// The model that answered, as the service names it.
    pub model: Option<String>,
    /// The service's id of the response.
    pub id: Option<String>,
}

impl ModelResponse {
    /// Returns the response with its usage.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }
}

impl From<Reply> for ModelResponse {
    fn from(reply: Reply) -> Self {
        Self { reply, usage: Usage::default(), model: None, id: None }
    }
}

impl<T: Into<String>> From<T> for ModelResponse {
    fn from(text: T) -> Self {
        Reply::text(text).into()
    }
}

/// Tokens that were read and written.
///
/// ```
/// use toolbox::model::Usage;
///
/// let mut usage = Usage::new(1_200, 80);
/// usage.cache_read_input_tokens = 1_000;
/// assert_eq!(usage.total_tokens(), 1_280);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens read, those from a cache and those written to one among them.
    pub input_tokens: u64,
    /// Tokens written, those of reasoning among them.
    pub output_tokens: u64,
    /// The tokens read that came from a cache.
    pub cache_read_input_tokens: u64,
    /// The tokens read that were written to a cache.
    pub cache_creation_input_tokens: u64,
    /// The tokens written that are reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Returns a usage of tokens read and written.
    #[must_use]
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, ..Self::default() }
    }

    /// Returns the tokens read and written, together.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let pairs = [
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.cache_read_input_tokens, other.cache_read_input_tokens),
            (&mut self.cache_creation_input_tokens, other.cache_creation_input_tokens),
            (&mut self.reasoning_tokens, other.reasoning_tokens),
        ];
        for (own, more) in pairs {
            *own = own.saturating_add(more);
        }
    }
}
