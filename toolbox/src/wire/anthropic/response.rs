//! Reads a whole reply, and the blocks of one.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::call::{Arguments, ToolCall};
use crate::dialect::Dialect;
use crate::model::{Echo, Finish, ModelResponse, Part, Reply, Usage};
use crate::wire::WireError;
use crate::wire::ended::finish_of;
use crate::wire::failure::{WORDS, service_error};
use crate::wire::lenient;

/// The key of the container in which the service runs programs.
pub(super) const CONTAINER: &str = "container";

/// Reads a whole reply.
pub(super) fn response(body: &str) -> Result<ModelResponse, WireError> {
    let message: ReplyMessage<'_> = serde_json::from_str(body)?;
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
    parts.extend(message.container.as_ref().and_then(container));
    Ok(ModelResponse {
        reply: reply(parts, message.stop_reason.as_deref()),
        usage: message.usage.unwrap_or_default().total(),
        model: message.model,
        id: message.id,
    })
}

#[derive(Deserialize)]
pub(super) struct ReplyMessage<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Vec<&'a RawValue>>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) stop_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) usage: Option<UsageIn>,
    #[serde(default, deserialize_with = "lenient::id")]
    pub(super) model: Option<String>,
    #[serde(default, deserialize_with = "lenient::id")]
    pub(super) id: Option<String>,
    pub(super) container: Option<Value>,
    pub(super) error: Option<Value>,
}

/// Returns the part that keeps the container in which the service runs programs: it is no block.
pub(super) fn container(container: &Value) -> Option<Part> {
    container.get("id").and_then(Value::as_str)?;
    let value = serde_json::json!({ CONTAINER: container });
    Some(Part::Other(Echo::new(Dialect::Anthropic, value)))
}

pub(super) fn reply(parts: Vec<Part>, stop_reason: Option<&str>) -> Reply {
    let reply = Reply::new(parts);
    let finish = match stop_reason {
        None => return reply,
        Some("tool_use") => Finish::Calls,
        Some("pause_turn") => Finish::Pause,
        Some(other) => finish_of(other, reply.finish == Finish::Calls),
    };
    reply.with_finish(finish)
}

/// The token counts of a message; each may be missing.
#[derive(Debug, Default, Deserialize)]
pub(super) struct UsageIn {
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct OutputDetails {
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) thinking_tokens: Option<u64>,
}

impl UsageIn {
    /// Takes the counts of `newer`: those of a stream are totals, not increments.
    pub(super) fn update(&mut self, newer: Self) {
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.cache_read_input_tokens =
            newer.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens =
            newer.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
        self.output_tokens_details =
            newer.output_tokens_details.or(self.output_tokens_details.take());
    }

    pub(super) fn total(&self) -> Usage {
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
pub(super) struct BlockType {
    #[serde(rename = "type")]
    pub(super) kind: String,
}

/// Returns the part of a block; `None` for `null`.
pub(super) fn part(block: &RawValue) -> Result<Option<Part>, WireError> {
    #[derive(Deserialize)]
    struct TextBlock {
        text: Option<String>,
    }
    #[derive(Deserialize)]
    struct ToolUseBlock {
        #[serde(default, deserialize_with = "lenient::id")]
        id: Option<String>,
        name: Option<String>,
        input: Option<Arguments>,
        caller: Option<Value>,
    }
    let Some(BlockType { kind }) = serde_json::from_str(block.get())? else { return Ok(None) };
    Ok(Some(match kind.as_str() {
        "text" => {
            let TextBlock { text } = serde_json::from_str(block.get())?;
            Part::text(text.unwrap_or_default())
        }
        "tool_use" => {
            let ToolUseBlock { id, name, input, caller } = serde_json::from_str(block.get())?;
            let input = input.unwrap_or_default();
            call(id.unwrap_or_default(), name.unwrap_or_default(), input, caller)
        }
        _ => opaque(serde_json::from_str(block.get())?),
    }))
}

pub(super) fn call(id: String, name: String, input: Arguments, caller: Option<Value>) -> Part {
    let input = if input.as_str().trim().is_empty() { Arguments::from("{}") } else { input };
    Part::Call {
        call: ToolCall::new(id, name, input),
        echo: caller
            .map(|caller| Echo::new(Dialect::Anthropic, serde_json::json!({ "caller": caller }))),
    }
}

/// Returns the part of a block that only the service reads.
pub(super) fn opaque(block: Value) -> Part {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    // The service refuses thinking that it cannot verify: if it was cut off before its signature,
    // it is not sent back.
    let (shown, proof) = match text("type") {
        "thinking" => (text("thinking").to_owned(), text("signature")),
        "redacted_thinking" => (String::new(), text("data")),
        _ => return Part::Other(Echo::new(Dialect::Anthropic, block)),
    };
    let verified = !proof.is_empty();
    Part::Reasoning { text: shown, echo: verified.then(|| Echo::new(Dialect::Anthropic, block)) }
}
