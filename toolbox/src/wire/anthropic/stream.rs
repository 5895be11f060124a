//! Reads a reply of Anthropic Messages, event by event.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::response::{BlockType, ReplyMessage, UsageIn, call, container, opaque, reply};
use crate::call::Arguments;
use crate::model::{Delta, ModelResponse, Part};
use crate::wire::failure::{WORDS, service_error};
use crate::wire::format::mended;
use crate::wire::lenient;
use crate::wire::pieces::{OpenParts, begun_arguments, same_arguments, text_of};
use crate::wire::{ResponseStream, WireError};

/// Reads a streamed reply of [`Anthropic`](super::Anthropic): from `message_start` to
/// `message_stop`.
///
/// A reply with a call whose block did not end is cut off, and none of its calls is run.
#[derive(Debug, Default)]
pub struct AnthropicStream {
    blocks: Vec<OpenBlock>,
    parts: OpenParts,
    usage: UsageIn,
    stop_reason: Option<String>,
    model: Option<String>,
    id: Option<String>,
    container: Option<Value>,
    started: bool,
    stopped: bool,
}

/// A block at its start, with the text received since.
#[derive(Debug)]
struct OpenBlock {
    start: Map<String, Value>,
    /// The pieces of its `input`.
    input: String,
}

impl OpenBlock {
    fn text(&self, key: &str) -> &str {
        self.start.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn append(&mut self, key: &str, more: &str) {
        match self.start.get_mut(key) {
            Some(Value::String(text)) => text.push_str(more),
            _ => drop(self.start.insert(key.to_owned(), more.into())),
        }
    }

    fn is_call(&self) -> bool {
        self.text("type") == "tool_use"
    }

    fn into_part(mut self) -> Result<Part, WireError> {
        Ok(match self.text("type") {
            "text" => Part::text(self.text("text")),
            "tool_use" => {
                same_arguments(self.start.get("input"), &self.input)?;
                let caller = self.start.remove("caller").filter(|caller| !caller.is_null());
                let (id, name) = (self.text("id").to_owned(), self.text("name").to_owned());
                let input = if self.input.trim().is_empty() {
                    self.start.get("input").filter(|input| !input.is_null()).map(text_of)
                } else {
                    Some(self.input)
                };
                let input = input.map(Arguments::from);
                call(id, name, input.unwrap_or_default(), caller)
            }
            _ => {
                if let Ok(input) = serde_json::from_str::<Value>(&self.input) {
                    self.start.insert("input".to_owned(), input);
                }
                opaque(Value::Object(self.start))
            }
        })
    }
}

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient::count")]
    index: Option<u64>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    content_block: Option<Map<String, Value>>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "lenient::object")]
    usage: Option<UsageIn>,
    error: Option<Value>,
}

/// The types of deltas that add to a block, each with the key of its text.
const ADDED: [(&str, &str); 5] = [
    ("text_delta", "text"),
    ("thinking_delta", "thinking"),
    ("signature_delta", "signature"),
    ("input_json_delta", "partial_json"),
    ("compaction_delta", "content"),
];

#[derive(Default, Deserialize)]
struct MessageDelta {
    #[serde(default, deserialize_with = "lenient::text")]
    stop_reason: Option<String>,
    container: Option<Value>,
}

impl ResponseStream for AnthropicStream {
    fn is_done(&self) -> bool {
        self.stopped
    }

    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), WireError> {
        // Some gateways add the end marker of another form; it is ignored.
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(());
        }
        let data = &*mended(data);
        let event: StreamEvent<'_> = serde_json::from_str(data)?;
        match (event.kind.as_deref(), &event.error) {
            (Some("error") | None, Some(error)) => return Err(service_error(error, &WORDS)),
            (Some("error"), None) => {
                return Err(service_error(&serde_json::from_str(data)?, &WORDS));
            }
            _ => {}
        }
        match event.kind.as_deref().unwrap_or_default() {
            kind if self.stopped && kind.starts_with("content_block_") => {
                return Err(WireError::Invalid(format!("a `{kind}` follows after the end")));
            }
            "message_start" => {
                if !self.blocks.is_empty() {
                    return Err(WireError::Invalid("the message starts a second time".into()));
                }
                let message = event.message.ok_or_else(|| missing("message"))?;
                let message: ReplyMessage<'_> = serde_json::from_str(message.get())?;
                self.usage.update(message.usage.unwrap_or_default());
                (self.model, self.id) = (message.model, message.id);
                self.container = message.container;
                self.started = true;
            }
            "content_block_start" => {
                let start = event.content_block.ok_or_else(|| missing("content_block"))?;
                self.start(event.index, start, emit);
            }
            "content_block_delta" => {
                let delta = event.delta.ok_or_else(|| missing("delta"))?;
                self.delta(event.index, delta, emit)?;
            }
            "message_delta" => {
                if let Some(delta) = event.delta {
                    let delta: MessageDelta = serde_json::from_str(delta.get())?;
                    self.stop_reason = delta.stop_reason.or(self.stop_reason.take());
                    self.container = delta.container.or(self.container.take());
                }
                if let Some(usage) = event.usage {
                    self.usage.update(usage);
                }
            }
            "content_block_stop" => self.stop(event.index, emit)?,
            "message_stop" => self.stopped = true,
            // `ping`, and future events: the service asks to ignore unknown ones.
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<ModelResponse, WireError> {
        if !(self.started && self.stopped) {
            return Err(WireError::CutOff);
        }
        let parts: Result<Vec<Part>, _> =
            self.blocks.into_iter().map(OpenBlock::into_part).collect();
        let mut parts = parts?;
        parts.extend(self.container.as_ref().and_then(container));
        let reply = reply(parts, self.stop_reason.as_deref());
        if self.parts.has_open_call() && reply.finish.allows_calls() {
            return Err(WireError::CutOff);
        }
        Ok(ModelResponse { reply, usage: self.usage.total(), model: self.model, id: self.id })
    }
}

impl AnthropicStream {
    fn start(
        &mut self,
        index: Option<u64>,
        start: Map<String, Value>,
        emit: &mut dyn FnMut(Delta),
    ) {
        let block = OpenBlock { start, input: String::new() };
        let place = self.parts.start(index, block.is_call());
        let owned = |key: &str| block.text(key).to_owned();
        match block.text("type") {
            "text" if !block.text("text").is_empty() => emit(Delta::Text(owned("text"))),
            "thinking" if !block.text("thinking").is_empty() => {
                emit(Delta::Reasoning(owned("thinking")));
            }
            "tool_use" => {
                emit(Delta::Call { index: place, id: owned("id"), name: owned("name") });
            }
            _ => {}
        }
        self.blocks.push(block);
    }

    /// Ends a block, and emits the arguments of a call that came with its start.
    fn stop(&mut self, index: Option<u64>, emit: &mut dyn FnMut(Delta)) -> Result<(), WireError> {
        let Some(place) = self.parts.place(index)? else { return Ok(()) };
        let block = &self.blocks[place];
        if !self.parts.stop(place) || !block.input.trim().is_empty() {
            return Ok(());
        }
        if let Some(text) = block.start.get("input").and_then(begun_arguments) {
            emit(Delta::Arguments { index: place, text });
        }
        Ok(())
    }

    fn delta(
        &mut self,
        index: Option<u64>,
        delta: &RawValue,
        emit: &mut dyn FnMut(Delta),
    ) -> Result<(), WireError> {
        let place = self.parts.place(index)?;
        let Some((place, block)) = place.and_then(|at| Some((at, self.blocks.get_mut(at)?))) else {
            return Err(WireError::Invalid("a `content_block_delta` belongs to no block".into()));
        };
        if block.is_call() && !self.parts.is_open_call(place) {
            return Err(WireError::Invalid("a `content_block_delta` follows its block".into()));
        }
        let BlockType { kind } = serde_json::from_str(delta.get())?;
        // Deltas without text, such as a citation, are not kept.
        let Some((_, key)) = ADDED.into_iter().find(|(of, _)| *of == kind) else { return Ok(()) };
        let delta: Map<String, Value> = serde_json::from_str(delta.get())?;
        let text = match delta.get(key) {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::String(text)) => text,
            Some(_) => return Err(WireError::Invalid(format!("`{key}` of a `{kind}` is no text"))),
        };
        if key == "partial_json" {
            if matches!(block.text("type"), "text" | "thinking" | "redacted_thinking") {
                return Err(WireError::Invalid(
                    "arguments belong to a block that is no call".into(),
                ));
            }
            block.input.push_str(text);
        } else {
            block.append(key, text);
        }
        match key {
            _ if text.is_empty() => {}
            "text" => emit(Delta::Text(text.clone())),
            "thinking" => emit(Delta::Reasoning(text.clone())),
            "partial_json" if block.text("type") == "tool_use" => {
                emit(Delta::Arguments { index: place, text: text.clone() });
            }
            _ => {}
        }
        Ok(())
    }
}

fn missing(key: &str) -> WireError {
    WireError::Invalid(format!("an event has no `{key}`"))
}
