//! Reads a reply that comes in events.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::response::{CUSTOM_CALL, ResponseObject, SEARCH_CALL, is_by_service};
use crate::context::promotion::SEARCH_TOOL;
use crate::model::{Delta, ModelResponse};
use crate::wire::openai::custom::{INPUT_END, input_piece};
use crate::wire::openai::{invalid, reported};
use crate::wire::{ResponseStream, WireError};

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    output_index: Option<u64>,
    summary_index: Option<u64>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    item: Option<Value>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    error: Option<Value>,
    code: Option<Value>,
    message: Option<Value>,
}

/// Reads the events of a Responses stream.
///
/// Each item comes complete once it is done, and the last event holds the whole response, from
/// which the reply is read. The reply is complete once that event came.
#[derive(Default)]
pub struct OpenAiResponsesStream {
    /// Items that are done, by their index: a map, because an index may be any number.
    done: BTreeMap<u64, Value>,
    /// Calls whose deltas are emitted, with `true` if any of their arguments were.
    calls: HashMap<u64, bool>,
    last: Option<ResponseObject>,
}

impl std::fmt::Debug for OpenAiResponsesStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAiResponsesStream")
            .field("items", &self.done.len())
            .field("done", &self.last.is_some())
            .finish_non_exhaustive()
    }
}

impl ResponseStream for OpenAiResponsesStream {
    fn is_done(&self) -> bool {
        self.last.is_some()
    }

    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), WireError> {
        let data = data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let event: StreamEvent<'_> = serde_json::from_str(data)?;
        let kind = event.kind.as_deref().unwrap_or_default();
        let place = event.output_index.unwrap_or_default();
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                send(text_of(event.delta)?, emit, Delta::Text);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                send(text_of(event.delta)?, emit, Delta::Reasoning);
            }
            "response.reasoning_summary_part.added"
                if event.summary_index.is_some_and(|index| index > 0) =>
            {
                // As the parts are joined in the whole reply.
                emit(Delta::Reasoning(
                    "

"
                    .to_owned(),
                ));
            }
            "response.output_item.added" => {
                if let Some(item) = &event.item {
                    self.announce(place, item, false, emit);
                }
            }
            "response.function_call_arguments.delta" => {
                self.add_arguments(place, text_of(event.delta)?, emit);
            }
            "response.function_call_arguments.done" if self.calls.get(&place) == Some(&false) => {
                self.add_arguments(place, text_of(event.arguments)?, emit);
            }
            "response.custom_tool_call_input.delta" => {
                self.add_input(place, &text_of(event.delta)?, emit);
            }
            "response.output_item.done" => {
                let item = event.item.ok_or_else(|| invalid("an item that is done is missing"))?;
                self.announce(place, &item, true, emit);
                if item.get("type").is_some_and(|kind| kind == CUSTOM_CALL) {
                    self.end_input(place, &item, emit);
                } else if self.calls.get(&place) == Some(&false) {
                    let arguments = match item.get("arguments") {
                        None | Some(Value::Null) => Cow::Borrowed(""),
                        Some(Value::String(text)) => text.into(),
                        // A search has an object here.
                        Some(other) => other.to_string().into(),
                    };
                    self.add_arguments(place, arguments, emit);
                }
                // Services that give no index send the items in order.
                let next = self.done.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
                self.done.insert(event.output_index.unwrap_or(next), item);
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let text = event.response.map_or("null", RawValue::get);
                let response: Option<ResponseObject> = serde_json::from_str(text)?;
                let response = response.ok_or_else(|| invalid("the last event has no response"))?;
                if kind == "response.failed" {
                    // A failed response is an error, even without a reason.
                    let missing = "the service reports that the response failed";
                    return Err(response.into_model_response().err().unwrap_or_else(|| {
                        let kind = "failed".to_owned();
                        WireError::Service { kind, message: missing.to_owned() }
                    }));
                }
                self.last = Some(response);
            }
            "error" | "" => {
                let flat = serde_json::json!({"code": event.code, "message": event.message});
                let error = reported(event.error.as_ref());
                let is_error = kind == "error" || event.message.is_some();
                if let Some(error) = error.or_else(|| reported(is_error.then_some(&flat))) {
                    return Err(error);
                }
                return Err(invalid("an event has no `type`"));
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<ModelResponse, WireError> {
        let mut response = self.last.ok_or(WireError::CutOff)?;
        // Some services omit the items from the last event, since they were all sent.
        if response.output.as_ref().is_none_or(Vec::is_empty) {
            response.output = Some(self.done.into_values().collect());
        }
        response.into_model_response()
    }
}

impl OpenAiResponsesStream {
    /// Emits the start of a call, once.
    fn announce(&mut self, place: u64, item: &Value, done: bool, emit: &mut dyn FnMut(Delta)) {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        if self.calls.contains_key(&place) {
            return;
        }
        let name = match text("type") {
            "function_call" | CUSTOM_CALL => text("name"),
            // It may get its id only when it is done.
            SEARCH_CALL if !is_by_service(item) && (done || !text("call_id").is_empty()) => {
                SEARCH_TOOL
            }
            _ => return,
        };
        self.calls.insert(place, false);
        let (id, name) = (text("call_id").to_owned(), name.to_owned());
        emit(Delta::Call { index: number(place), id, name });
    }

    /// Emits a piece of a text that stands in place of JSON, as the JSON that the call is read as.
    fn add_input(&mut self, place: u64, text: &str, emit: &mut dyn FnMut(Delta)) {
        let is_first = self.calls.get(&place) == Some(&false);
        self.add_arguments(place, input_piece(text, is_first).into(), emit);
    }

    fn end_input(&mut self, place: u64, item: &Value, emit: &mut dyn FnMut(Delta)) {
        if self.calls.get(&place) == Some(&false) {
            let input = item.get("input").and_then(Value::as_str).unwrap_or_default();
            self.add_input(place, input, emit);
        }
        self.add_arguments(place, INPUT_END.into(), emit);
    }

    fn add_arguments(&mut self, place: u64, text: Cow<'_, str>, emit: &mut dyn FnMut(Delta)) {
        if !text.is_empty() {
            self.calls.insert(place, true);
            emit(Delta::Arguments { index: number(place), text: text.into_owned() });
        }
    }
}

/// Returns the index of an item's part: items become parts one by one.
fn number(place: u64) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

fn send(text: Cow<'_, str>, emit: &mut dyn FnMut(Delta), delta: fn(String) -> Delta) {
    if !text.is_empty() {
        emit(delta(text.into_owned()));
    }
}

/// Reads the text of an event. It is read only here, because other events have other values under
/// the same key.
fn text_of(raw: Option<&RawValue>) -> Result<Cow<'_, str>, WireError> {
    let Some(raw) = raw else { return Ok(Cow::Borrowed("")) };
    // Text without escapes is borrowed; serde deserializes a `Cow` as owned.
    match serde_json::from_str::<&str>(raw.get()) {
        Ok(text) => Ok(Cow::Borrowed(text)),
        Err(_) => Ok(Cow::Owned(serde_json::from_str(raw.get())?)),
    }
}
