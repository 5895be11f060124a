//! Reads a reply that comes in events.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::items::{ItemMark, StreamedItems};
use super::response::ResponseObject;
use crate::model::{Delta, ModelResponse, Part};
use crate::wire::format::mended;
use crate::wire::lenient;
use crate::wire::openai::{invalid, reported};
use crate::wire::{ResponseStream, WireError};

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "lenient::count")]
    output_index: Option<u64>,
    #[serde(borrow)]
    item_id: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "lenient::count")]
    summary_index: Option<u64>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "lenient::item")]
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
/// which the reply is read. The reply is complete once that event came. A reply with a call that
/// began and is in neither is cut off, and none of its calls is run.
#[derive(Default)]
pub struct OpenAiResponsesStream {
    items: StreamedItems,
    /// The text of the deltas.
    text: String,
    last: Option<ResponseObject>,
}

impl std::fmt::Debug for OpenAiResponsesStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAiResponsesStream")
            .field("items", &self.items.len())
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
        let data = &*mended(data);
        let event: StreamEvent<'_> = serde_json::from_str(data)?;
        let kind = event.kind.as_deref().unwrap_or_default();
        let mark = ItemMark { index: event.output_index, id: event.item_id.as_deref() };
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                let text = text_of(event.delta)?;
                if kind == "response.output_text.delta" {
                    self.text.push_str(&text);
                }
                send(text, emit, Delta::Text);
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
                    self.items.add(event.output_index, item, emit);
                }
            }
            "response.function_call_arguments.delta" => {
                self.items.add_arguments(mark, &text_of(event.delta)?, emit);
            }
            "response.function_call_arguments.done" => {
                self.items.end_arguments(mark, &text_of(event.arguments)?, emit);
            }
            "response.custom_tool_call_input.delta" => {
                self.items.add_input(mark, &text_of(event.delta)?, emit);
            }
            "response.output_item.done" => {
                let item = event.item.ok_or_else(|| invalid("an item that is done is missing"))?;
                self.items.end(event.output_index, item, emit)?;
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
                if kind == "response.completed" {
                    self.items.complete(response.output.as_deref().unwrap_or_default(), emit)?;
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
            response.output = Some(self.items.into_done());
        }
        let mut response = response.into_model_response()?;
        // Others send its text without an item.
        let has_text = |part: &Part| matches!(part, Part::Text { .. });
        if !self.text.is_empty() && !response.reply.parts.iter().any(has_text) {
            let calls = |part: &Part| matches!(part, Part::Call { .. });
            let parts = &mut response.reply.parts;
            let at = parts.iter().position(calls).unwrap_or(parts.len());
            parts.insert(at, Part::text(self.text));
        }
        Ok(response)
    }
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
