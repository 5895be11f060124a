//! The messages of a prompt.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call::{Content, IntoToolResult, Role, ToolResult};

/// A message of a prompt: one part of content, said by the user or by the assistant.
///
/// ```
/// use toolbox::prompt::PromptMessage;
///
/// let messages = [
///     PromptMessage::user("Name a prime number."),
///     PromptMessage::assistant("Seven."),
///     PromptMessage::user("A larger one."),
/// ];
/// assert_eq!(
///     serde_json::to_value(&messages[1])?,
///     serde_json::json!({"role": "assistant", "content": {"type": "text", "text": "Seven."}}),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// The one who says it.
    pub role: Role,
    /// The content: text, an image, audio, a document or a link.
    pub content: Content,
}

impl PromptMessage {
    /// Returns a message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// Returns a message of the assistant.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}

/// A prompt with its arguments filled in.
///
/// ```
/// use toolbox::prompt::{PromptMessage, RenderedPrompt};
///
/// let rendered = RenderedPrompt::new(["Name a prime number.", "A large one."]);
/// assert_eq!(rendered.messages[1], PromptMessage::user("A large one."));
/// assert_eq!(rendered.text(), "Name a prime number.\nA large one.");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RenderedPrompt {
    /// The description of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages, in order.
    pub messages: Vec<PromptMessage>,
}

impl RenderedPrompt {
    /// Returns a prompt of these messages, without a description.
    pub fn new(messages: impl IntoPromptMessages) -> Self {
        Self { description: None, messages: messages.into_messages() }
    }

    /// Returns the text of all messages, one a line; parts without text are left out.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.messages.iter().filter_map(|message| message.content.to_text());
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Reads the messages of a result: each part is one. `description` is that of the prompt,
    /// unless the result has its own.
    pub(crate) fn of(description: &str, result: ToolResult) -> Self {
        let description = match result.structured_value() {
            Some(own) => own.get(DESCRIPTION).and_then(Value::as_str).map(str::to_owned),
            None => Some(description.to_owned()).filter(|text| !text.is_empty()),
        };
        let message = |mut content: Content| {
            let role = content.attributes_mut().take_role().unwrap_or(Role::User);
            PromptMessage { role, content }
        };
        Self { description, messages: result.into_content().into_iter().map(message).collect() }
    }
}

/// A value that a prompt may return: text, content, messages, or a `Result` of one.
///
/// Text and content are messages of the user.
///
/// ```
/// use toolbox::{Content, prompt};
/// use toolbox::prompt::PromptMessage;
///
/// /// Asks for a description of the picture of the day.
/// #[prompt]
/// fn describe() -> Vec<PromptMessage> {
///     let picture = Content::image(b"\x89PNG", "image/png");
///     vec![PromptMessage::user(picture), PromptMessage::user("Describe the picture.")]
/// }
///
/// assert_eq!(describe().len(), 2);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no message of a prompt",
    label = "a prompt cannot return this",
    note = "return `String`, `Content`, `PromptMessage`, a `Vec` of these, or a `Result` of one",
    note = "implement `toolbox::prompt::IntoPromptMessages` for a type of your own"
)]
pub trait IntoPromptMessages {
    /// Returns the messages.
    fn into_messages(self) -> Vec<PromptMessage>;
}

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl IntoPromptMessages for $type {
            fn into_messages(self) -> Vec<PromptMessage> {
                vec![PromptMessage::user(String::from(self))]
            }
        }
    )*};
}

texts!(String, &str, Box<str>, Cow<'_, str>);

impl IntoPromptMessages for Content {
    fn into_messages(self) -> Vec<PromptMessage> {
        vec![PromptMessage::user(self)]
    }
}

impl IntoPromptMessages for PromptMessage {
    fn into_messages(self) -> Vec<PromptMessage> {
        vec![self]
    }
}

impl<T: IntoPromptMessages> IntoPromptMessages for Vec<T> {
    fn into_messages(self) -> Vec<PromptMessage> {
        self.into_iter().flat_map(T::into_messages).collect()
    }
}

impl<T: IntoPromptMessages, const N: usize> IntoPromptMessages for [T; N] {
    fn into_messages(self) -> Vec<PromptMessage> {
        self.into_iter().flat_map(T::into_messages).collect()
    }
}

impl IntoPromptMessages for RenderedPrompt {
    fn into_messages(self) -> Vec<PromptMessage> {
        self.messages
    }
}

/// The key of the structure of a result for the description of a prompt that was rendered whole.
const DESCRIPTION: &str = "description";

/// Returns messages as the result of a call: each is a part, which carries its role.
pub(crate) fn result_of(messages: Vec<PromptMessage>) -> ToolResult {
    let part = |PromptMessage { role, mut content }: PromptMessage| {
        content.attributes_mut().set_role(role);
        content
    };
    ToolResult::from(messages.into_iter().map(part).collect::<Vec<_>>())
}

impl IntoToolResult for PromptMessage {
    fn into_tool_result(self) -> ToolResult {
        result_of(vec![self])
    }
}

impl IntoToolResult for Vec<PromptMessage> {
    fn into_tool_result(self) -> ToolResult {
        result_of(self)
    }
}

impl IntoToolResult for RenderedPrompt {
    fn into_tool_result(self) -> ToolResult {
        let Self { description, messages } = self;
        result_of(messages).with_structured_content(json!({ DESCRIPTION: description }))
    }
}
