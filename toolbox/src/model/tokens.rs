//! The length of requests in tokens, part by part.

use super::history::{History, Message};
use super::reply::{Echo, Part};
use super::request::ModelRequest;
use crate::call::{Content, ToolCall, ToolResult};
use crate::dialect::{Dialect, EstimatedTokens, TokenCounter, ToolTokens};

/// The tokens that stand for a picture, a sound or a document of bytes, whose real cost is known to
/// its service alone.
const MEDIA: usize = 1_600;

/// The tokens that a service adds to a message, a call or a result of its own.
const FRAME: usize = 4;

/// The length of a request in tokens, part by part.
///
/// Pictures, sounds and documents of bytes count 1 600 tokens each, the frame of a message, of a
/// call and of a result 4, and opaque parts of a service one for four bytes of their JSON.
/// Definitions are counted in the form of `OpenAI` chat. Options are not counted, nor are tools
/// that a service finds by a search of its own.
///
/// ```
/// use toolbox::model::{History, ModelRequest};
///
/// let request = ModelRequest::new(History::from("What is 2 + 3?")).with_system("Be brief.");
/// let tokens = request.tokens();
/// assert_eq!((tokens.system, tokens.messages[0].text, tokens.definitions.len()), (3, 10, 0));
/// assert_eq!(tokens.total(), 13);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestTokens {
    /// The instructions.
    pub system: usize,
    /// Each definition, in order.
    pub definitions: Vec<ToolTokens>,
    /// Each message of the transcript, in order.
    pub messages: Vec<MessageTokens>,
}

impl RequestTokens {
    /// Returns the tokens of the whole request.
    #[must_use]
    pub fn total(&self) -> usize {
        let definitions = self.definitions.iter().map(|tool| tool.tokens);
        let messages = self.messages.iter().map(MessageTokens::total);
        sum([self.system].into_iter().chain(definitions).chain(messages))
    }
}

/// The length of one message of a transcript in tokens: a message of the user, or a reply with the
/// results of its calls.
///
/// ```
/// use toolbox::model::{History, ModelRequest, Replied, Reply};
/// use toolbox::{ToolCall, ToolResult};
///
/// let reply = Reply::calls([ToolCall::new("call_1", "add", r#"{"a":2,"b":3}"#)]);
/// let Replied::Calls(open) = History::from("2 + 3?").reply(reply) else { unreachable!() };
/// let request = ModelRequest::new(open.answer([ToolResult::new("five")]));
/// let step = &request.tokens().messages[1];
/// assert_eq!((step.calls.len(), step.results.as_slice()), (1, &[5][..]));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageTokens {
    /// The content of a message of the user; of a reply, its texts, its reasoning and its opaque
    /// parts.
    pub text: usize,
    /// Each call of a reply: its name and its arguments.
    pub calls: Vec<usize>,
    /// The result of each call.
    pub results: Vec<usize>,
}

impl MessageTokens {
    /// Returns the tokens of the whole message.
    #[must_use]
    pub fn total(&self) -> usize {
        sum([self.text].iter().chain(&self.calls).chain(&self.results).copied())
    }

    fn of(message: &Message, counter: &(impl TokenCounter + ?Sized)) -> Self {
        match message {
            Message::User(content) => {
                Self { text: framed(content_tokens(content, counter)), ..Self::default() }
            }
            Message::Step(step) => {
                let parts = &step.reply().parts;
                Self {
                    text: framed(sum(parts.iter().map(|part| part_tokens(part, counter)))),
                    calls: step
                        .reply()
                        .tool_calls()
                        .map(|call| call_tokens(call, counter))
                        .collect(),
                    results: step.results().iter().map(|own| result_tokens(own, counter)).collect(),
                }
            }
        }
    }
}

impl ModelRequest {
    /// Returns the estimated length of the request in tokens, part by part.
    ///
    /// It is an [estimate](EstimatedTokens): against a tokenizer, nine of ten requests were within
    /// 15 % (`docs/results.md`).
    #[must_use]
    pub fn tokens(&self) -> RequestTokens {
        self.tokens_with(&EstimatedTokens)
    }

    /// Returns the length of the request in tokens, part by part, by a counter of one's own.
    #[must_use]
    pub fn tokens_with(&self, counter: &(impl TokenCounter + ?Sized)) -> RequestTokens {
        let messages = self.history.messages().iter();
        RequestTokens {
            system: self.system.as_deref().map_or(0, |text| counter.count(text)),
            definitions: self.tools.tokens_with(Dialect::OpenAiChat, counter),
            messages: messages.map(|message| MessageTokens::of(message, counter)).collect(),
        }
    }
}

/// The length of a transcript that grows and is shortened: each message is counted once for as long
/// as it stays the same.
#[derive(Debug, Default)]
pub(crate) struct CountedHistory(Vec<(Message, MessageTokens)>);

impl CountedHistory {
    /// Brings the counts up to date, and returns them, one for each message.
    pub(crate) fn count(
        &mut self,
        history: &History,
        counter: &(impl TokenCounter + ?Sized),
    ) -> impl Iterator<Item = &MessageTokens> {
        let mut known = std::mem::take(&mut self.0);
        let mut from = 0;
        for message in history.messages() {
            // Where messages were taken out, the rest is found further on.
            let found = known[from..].iter_mut().position(|(own, _)| own.is_same(message));
            let tokens = match found {
                Some(at) => {
                    from += at + 1;
                    std::mem::take(&mut known[from - 1].1)
                }
                None => MessageTokens::of(message, counter),
            };
            self.0.push((message.clone(), tokens));
        }
        self.0.iter().map(|(_, tokens)| tokens)
    }
}

/// Returns the tokens of a result with its frame.
pub(crate) fn result_tokens(result: &ToolResult, counter: &(impl TokenCounter + ?Sized)) -> usize {
    framed(content_tokens(result.content(), counter))
}

/// Returns the sum of counts, which may be those of a counter that returns any number.
pub(crate) fn sum(counts: impl IntoIterator<Item = usize>) -> usize {
    counts.into_iter().fold(0, usize::saturating_add)
}

fn framed(tokens: usize) -> usize {
    tokens.saturating_add(FRAME)
}

fn content_tokens(content: &[Content], counter: &(impl TokenCounter + ?Sized)) -> usize {
    let of = |part: &Content| match part {
        Content::Resource(resource) => resource
            .text
            .as_ref()
            .map_or(MEDIA, |text| sum([counter.count(&resource.uri), counter.count(text)])),
        part => part.to_text().map_or(MEDIA, |text| counter.count(&text)),
    };
    sum(content.iter().map(of))
}

fn call_tokens(call: &ToolCall, counter: &(impl TokenCounter + ?Sized)) -> usize {
    sum([FRAME, counter.count(&call.name), counter.count(call.arguments.as_str())])
}

/// Returns the tokens of a part of a reply that is no call.
fn part_tokens(part: &Part, counter: &(impl TokenCounter + ?Sized)) -> usize {
    match part {
        Part::Text { text, .. } => counter.count(text),
        // The text of reasoning is in its opaque part as well.
        Part::Reasoning { text, .. } if !text.is_empty() => counter.count(text),
        Part::Reasoning { echo: Some(echo), .. } | Part::Other(echo) => opaque_tokens(echo),
        Part::Reasoning { echo: None, .. } | Part::Call { .. } => 0,
    }
}

/// Returns the tokens of a part that only its service understands; most hold encoded bytes, which
/// no tokenizer reads.
fn opaque_tokens(echo: &Echo) -> usize {
    echo.value.to_string().len().div_ceil(4)
}
