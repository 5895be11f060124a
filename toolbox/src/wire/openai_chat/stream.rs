//! Reads a reply that comes in chunks.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::response::{
    ChatEnvelope, Custom, EchoedCall, Gathered, arguments, marked_custom, nullable,
    shown_reasoning, with_extra,
};
use crate::call::{Arguments, ToolCall};
use crate::model::{Delta, ModelResponse, Usage};
use crate::wire::openai::custom::{INPUT_END, input_piece};
use crate::wire::openai::{invalid, read, reported, usage};
use crate::wire::{ResponseStream, WireError};

#[derive(Deserialize)]
struct ChunkChoice {
    index: Option<u64>,
    #[serde(default, deserialize_with = "nullable")]
    delta: MessageDelta,
    finish_reason: Option<String>,
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
struct MessageDelta {
    #[serde(default)]
    content: Value,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Value,
    #[serde(default, deserialize_with = "nullable")]
    tool_calls: Vec<CallPiece>,
    function_call: Option<FunctionPiece>,
}

#[derive(Default, Deserialize)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
    custom: Option<Custom>,
    extra_content: Option<Value>,
}

#[derive(Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    #[serde(default, deserialize_with = "arguments")]
    arguments: Arguments,
}

/// Reads the chunks of a Chat Completions stream.
///
/// Forgiving where services differ: calls without an index, an id or a name repeated in every
/// chunk, arguments all at once, token counts in a chunk of their own. The reply is complete once a
/// chunk gives a finish reason.
#[derive(Default)]
pub struct OpenAiChatStream {
    id: Option<String>,
    model: Option<String>,
    gathered: Gathered,
    calls: Vec<CallSoFar>,
    /// The position of the call of an index; a map, because an index may be any number.
    places: HashMap<u64, usize>,
    usage: Usage,
    ended: bool,
}

#[derive(Default)]
struct CallSoFar {
    /// The index that its deltas carry.
    part: usize,
    id: String,
    name: String,
    arguments: String,
    is_custom: bool,
    extra: Option<Value>,
    announced: bool,
}

impl CallSoFar {
    /// Returns a piece of a text as a piece of the JSON that the call is read as.
    fn input(&mut self, text: &str) -> String {
        self.is_custom = true;
        if text.is_empty() {
            return String::new();
        }
        input_piece(text, self.arguments.is_empty())
    }

    /// Returns the end of the arguments of a custom call.
    fn input_end(&self) -> String {
        let start = if self.arguments.is_empty() { input_piece("", true) } else { String::new() };
        start + INPUT_END
    }

    fn into_call(self) -> EchoedCall {
        let call = ToolCall::new(self.id, self.name, self.arguments);
        if self.is_custom { marked_custom(call) } else { with_extra(call, self.extra) }
    }
}

impl std::fmt::Debug for OpenAiChatStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAiChatStream")
            .field("id", &self.id)
            .field("calls", &self.calls.len())
            .field("finish", &self.gathered.finish)
            .finish_non_exhaustive()
    }
}

impl ResponseStream for OpenAiChatStream {
    fn is_done(&self) -> bool {
        // Token counts may follow the reason, so only the marker is the end.
        self.ended
    }

    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), WireError> {
        let data = data.trim();
        self.ended |= data == "[DONE]";
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let chunk: ChatEnvelope<ChunkChoice> = read(data)?;
        if let Some(error) = chunk.failure() {
            return Err(error);
        }
        self.id = chunk.id.or_else(|| self.id.take());
        self.model = chunk.model.or_else(|| self.model.take());
        if chunk.usage.is_some() {
            self.usage = usage(chunk.usage.as_ref());
        }
        for choice in chunk.choices {
            if let Some(error) = reported(choice.error.as_ref()) {
                return Err(error);
            }
            if choice.index.unwrap_or_default() == 0 {
                self.take(choice.delta, emit)?;
                let finish = choice.finish_reason.filter(|word| !word.is_empty());
                if finish.is_some() && self.gathered.finish.is_none() {
                    self.end_inputs(emit);
                }
                self.gathered.finish = finish.or_else(|| self.gathered.finish.take());
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ModelResponse, WireError> {
        // Services end every stream with the reason, so one without is incomplete, whatever marker
        // came after it.
        if self.gathered.finish.is_none() {
            return Err(WireError::CutOff);
        }
        self.gathered.calls = self.calls.into_iter().map(CallSoFar::into_call).collect();
        Ok(ModelResponse {
            reply: self.gathered.into_reply()?,
            usage: self.usage,
            model: self.model,
            id: self.id,
        })
    }
}

impl OpenAiChatStream {
    fn take(&mut self, piece: MessageDelta, emit: &mut dyn FnMut(Delta)) -> Result<(), WireError> {
        let reasoning = match piece.reasoning_content.filter(|text| !text.is_empty()) {
            Some(text) => {
                if !self.gathered.echo_reasoning {
                    // Where both fields come, they hold the same, and this is the one that is sent
                    // back.
                    self.gathered.reasoning.clear();
                    self.gathered.echo_reasoning = true;
                }
                text
            }
            None if self.gathered.echo_reasoning => String::new(),
            None => shown_reasoning(piece.reasoning),
        };
        let before = self.gathered.reasoning.len();
        self.gathered.reasoning.push_str(&reasoning);
        let (content, refusal) = (self.gathered.content.len(), self.gathered.refusal.len());
        self.gathered.add_content(piece.content)?;
        self.gathered.refusal.push_str(&piece.refusal.unwrap_or_default());

        let added = &self.gathered.reasoning[before..];
        if !added.is_empty() {
            emit(Delta::Reasoning(added.to_owned()));
        }
        let added = [&self.gathered.content[content..], &self.gathered.refusal[refusal..]];
        for added in added.into_iter().filter(|added| !added.is_empty()) {
            emit(Delta::Text(added.to_owned()));
        }
        for call in piece.tool_calls {
            self.take_call(call, emit)?;
        }
        if let Some(function) = piece.function_call {
            let call =
                CallPiece { index: Some(0), function: Some(function), ..CallPiece::default() };
            self.take_call(call, emit)?;
        }
        Ok(())
    }

    fn take_call(
        &mut self,
        piece: CallPiece,
        emit: &mut dyn FnMut(Delta),
    ) -> Result<(), WireError> {
        let CallPiece { index, id, function, custom, extra_content } = piece;
        let id = id.filter(|id| !id.is_empty());
        let is_custom = function.is_none() && custom.is_some();
        let (name, text) = match (function, custom) {
            (Some(function), _) => (function.name, function.arguments.into_string()),
            (None, Some(custom)) => (custom.name, custom.input.unwrap_or_default()),
            (None, None) => (None, String::new()),
        };
        let name = name.filter(|name| !name.is_empty());
        let place = match self.place(index, id.as_deref(), name.as_deref()) {
            Some(place) => place,
            None if index.is_none() && id.is_none() && name.is_none() => {
                return Err(invalid("a piece of a call belongs to no call"));
            }
            None => self.begin(index),
        };
        let call = &mut self.calls[place];
        if call.id.is_empty() {
            call.id = id.unwrap_or_default();
        }
        if call.name.is_empty() {
            call.name = name.unwrap_or_default();
        }
        call.extra = extra_content.or_else(|| call.extra.take());
        let text = if is_custom { call.input(&text) } else { text };
        let is_known = !call.name.is_empty() || !text.is_empty();
        if is_known && !call.announced {
            call.announced = true;
            let (id, name) = (call.id.clone(), call.name.clone());
            emit(Delta::Call { index: call.part, id, name });
        }
        if !text.is_empty() {
            call.arguments.push_str(&text);
            emit(Delta::Arguments { index: call.part, text });
        }
        Ok(())
    }

    /// Ends the arguments of custom calls, which come as a text without an end of its own.
    fn end_inputs(&mut self, emit: &mut dyn FnMut(Delta)) {
        for call in self.calls.iter_mut().filter(|call| call.is_custom) {
            let text = call.input_end();
            call.arguments.push_str(&text);
            emit(Delta::Arguments { index: call.part, text });
        }
    }

    /// Returns the call that a piece continues, if it continues one.
    fn place(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let Some(index) = index else {
            return match (id, name) {
                (Some(id), _) => self.calls.iter().rposition(|call| call.id == id),
                (None, Some(_)) => None,
                (None, None) => self.calls.len().checked_sub(1),
            };
        };
        let place = *self.places.get(&index)?;
        // Some services number every call zero: another id together with a name is another call.
        let known = &self.calls[place].id;
        let other = name.is_some() && id.is_some_and(|id| !known.is_empty() && known != id);
        (!other).then_some(place)
    }

    fn begin(&mut self, index: Option<u64>) -> usize {
        let place = self.calls.len();
        let part = place
            + usize::from(!self.gathered.reasoning.is_empty())
            + usize::from(!(self.gathered.content.is_empty() && self.gathered.refusal.is_empty()));
        self.places.extend(index.map(|index| (index, place)));
        self.calls.push(CallSoFar { part, ..CallSoFar::default() });
        place
    }
}
