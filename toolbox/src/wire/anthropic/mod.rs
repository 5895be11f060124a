//! Anthropic Messages.

mod body;
mod history;
mod stream;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub use stream::AnthropicStream;

use super::failure::{WORDS, service_error};
use super::{Format, Transcript, WireError};
use crate::call::{Arguments, ToolCall};
use crate::model::{Echo, Finish, ModelRequest, ModelResponse, Part, Reply, Usage};
use crate::schema::Dialect;

/// The form of Anthropic's `POST /v1/messages`, header `anthropic-version: 2023-06-01`.
///
/// Thinking goes back as it came, and so do blocks of tools that the service runs itself. Citations of a text are not kept.
/// A transcript from another service is sent without that service's reasoning; the option `thinking` is then left out
/// until the user speaks again, because the service refuses calls that no thinking stands before.
///
/// [Options](ModelRequest::options) are keys of the request, such as `thinking`, `metadata`, `cache_control` or `top_k`.
/// Those with a name that all forms know:
///
/// | option | becomes | default |
/// |---|---|---|
/// | `max_tokens` | itself | 8192, beside the budget of thinking |
/// | `temperature`, `top_p` | itself, for models that still take it | not sent |
/// | `stop`, a text or several | `stop_sequences` | not sent |
///
/// With a [search](ModelRequest::search), the tools that can be found stand in the list with `defer_loading`, and the result
/// of a search is a list of references to them; a result that refers to a tool that is not there is its text, as is one
/// that found nothing. Above 10 000 tools, which is all the service takes, only those are listed that were found before.
/// Examples of arguments are left out, because the service takes none then.
///
/// What a request has fields for (`model`, `messages`, `system`, `tools`, `tool_choice`, `stream`, and what other forms call
/// these) is no option. A choice that forces a call becomes `auto` beside thinking, which does not go with it.
///
/// ```
/// use toolbox::model::{History, ModelRequest};
/// use toolbox::wire::{Anthropic, Format};
///
/// let request = ModelRequest::new(History::from("Hello")).with_option("max_tokens", 100);
/// assert_eq!(
///     Anthropic::body(&request, "claude-sonnet-4-5", false),
///     concat!(
///         r#"{"model":"claude-sonnet-4-5","max_tokens":100,"#,
///         r#""messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}]}"#,
///     ),
/// );
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Anthropic;

impl Format for Anthropic {
    const DIALECT: Dialect = Dialect::Anthropic;

    type Stream = AnthropicStream;

    fn body(request: &ModelRequest, model: &str, stream: bool) -> String {
        body::body(request, model, stream)
    }

    fn response(body: &str) -> Result<ModelResponse, WireError> {
        let message: Message<'_> = serde_json::from_str(body)?;
        if let Some(error) = &message.error {
            return Err(service_error(error, &WORDS));
        }
        if message.content.is_none() && message.stop_reason.is_none() {
            return Err(WireError::Invalid("there is no `content`".into()));
        }
        let blocks = message.content.unwrap_or_default();
        let mut parts = Vec::with_capacity(blocks.len());
        for block in blocks {
            parts.extend(part(block)?);
        }
        Ok(ModelResponse {
            reply: reply(parts, message.stop_reason.as_deref()),
            usage: message.usage.unwrap_or_default().total(),
            model: message.model,
            id: message.id,
        })
    }

    fn history(messages: &str) -> Result<Transcript, WireError> {
        history::history(messages)
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<Vec<&'a RawValue>>,
    stop_reason: Option<String>,
    usage: Option<UsageIn>,
    model: Option<String>,
    id: Option<String>,
    error: Option<Value>,
}

fn reply(parts: Vec<Part>, stop_reason: Option<&str>) -> Reply {
    let reply = Reply::new(parts);
    let finish = match stop_reason {
        // A reply that waits for results says so, whatever word its service found for the end.
        None | Some("end_turn" | "stop_sequence") => return reply,
        Some("tool_use") => Finish::Calls,
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("pause_turn") => Finish::Pause,
        Some("refusal") => Finish::Refusal,
        Some(other) => Finish::Other(other.to_owned()),
    };
    reply.with_finish(finish)
}

/// What a message cost, where it says so.
#[derive(Debug, Default, Deserialize)]
struct UsageIn {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Default, Deserialize)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

impl UsageIn {
    /// Takes over what `newer` says: counts of a stream are of the whole, not of what is new.
    fn update(&mut self, newer: Self) {
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.cache_read_input_tokens =
            newer.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens =
            newer.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
        self.output_tokens_details =
            newer.output_tokens_details.or(self.output_tokens_details.take());
    }

    fn total(&self) -> Usage {
        let read = self.cache_read_input_tokens.unwrap_or(0);
        let created = self.cache_creation_input_tokens.unwrap_or(0);
        Usage {
            input_tokens: self
                .input_tokens
                .unwrap_or(0)
                .saturating_add(read)
                .saturating_add(created),
            output_tokens: self.output_tokens.unwrap_or(0),
            cache_read_input_tokens: read,
            cache_creation_input_tokens: created,
            reasoning_tokens: self
                .output_tokens_details
                .as_ref()
                .and_then(|details| details.thinking_tokens)
                .unwrap_or(0),
        }
    }
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

/// Returns the part that a block of a reply is; `None` for `null`.
fn part(block: &RawValue) -> Result<Option<Part>, WireError> {
    #[derive(Deserialize)]
    struct Text {
        text: Option<String>,
    }
    #[derive(Deserialize)]
    struct ToolUse {
        id: Option<String>,
        name: Option<String>,
        input: Option<Arguments>,
        caller: Option<Value>,
    }
    let Some(Kind { kind }) = serde_json::from_str(block.get())? else { return Ok(None) };
    Ok(Some(match kind.as_str() {
        "text" => {
            let Text { text } = serde_json::from_str(block.get())?;
            Part::text(text.unwrap_or_default())
        }
        "tool_use" => {
            let ToolUse { id, name, input, caller } = serde_json::from_str(block.get())?;
            let input = input.unwrap_or_default();
            call(id.unwrap_or_default(), name.unwrap_or_default(), input, caller)
        }
        _ => opaque(serde_json::from_str(block.get())?),
    }))
}

fn call(id: String, name: String, input: Arguments, caller: Option<Value>) -> Part {
    let input = if input.as_str().trim().is_empty() { Arguments::from("{}") } else { input };
    Part::Call {
        call: ToolCall { id, name, arguments: input },
        echo: caller
            .map(|caller| Echo::new(Dialect::Anthropic, serde_json::json!({ "caller": caller }))),
    }
}

/// Returns the part that a block is which nobody but the service reads.
fn opaque(block: Value) -> Part {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    // What the service cannot verify it refuses: thinking that was cut off before its signature stays here.
    let (shown, proof) = match text("type") {
        "thinking" => (text("thinking").to_owned(), text("signature")),
        "redacted_thinking" => (String::new(), text("data")),
        _ => return Part::Other(Echo::new(Dialect::Anthropic, block)),
    };
    let verified = !proof.is_empty();
    Part::Reasoning { text: shown, echo: verified.then(|| Echo::new(Dialect::Anthropic, block)) }
}
