//! Reads a reply of Gemini Interactions, event by event.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::response::{FAILURE_WORDS, InteractionIn, StepIn, StepObject, TokenCounts, kind};
use crate::call::Arguments;
use crate::model::{Delta, ModelResponse};
use crate::wire::failure::service_error;
use crate::wire::{ResponseStream, WireError};

/// Reads a streamed reply of [`GeminiInteractions`](super::GeminiInteractions): from
/// `interaction.created` to `interaction.completed`.
///
/// The last event has the status and the token counts, and no steps: those are put together from
/// their pieces.
#[derive(Debug, Default)]
pub struct GeminiInteractionsStream {
    steps: Vec<OpenStep>,
    /// The position of the step of an index; indices are the service's own and may be any number.
    places: HashMap<u64, usize>,
    interaction: InteractionIn,
    completed: bool,
}

/// A step at its start, with what was received since.
#[derive(Debug)]
struct OpenStep {
    step: StepObject,
    /// The pieces of its arguments, if any came.
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct StreamEvent<'a> {
    event_type: Option<String>,
    index: Option<u64>,
    step: Option<StepObject>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    interaction: Option<InteractionIn>,
    usage: Option<TokenCounts>,
    error: Option<Value>,
}

impl ResponseStream for GeminiInteractionsStream {
    fn is_done(&self) -> bool {
        self.completed
    }

    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), WireError> {
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(());
        }
        let event: StreamEvent<'_> = serde_json::from_str(data)?;
        match (event.event_type.as_deref(), &event.error) {
            (Some("error") | None, Some(error)) => {
                return Err(service_error(error, &FAILURE_WORDS));
            }
            (Some("error"), None) => {
                return Err(service_error(&serde_json::from_str(data)?, &FAILURE_WORDS));
            }
            (None, None) => return Err(missing("event_type")),
            _ => {}
        }
        self.interaction.usage = event.usage.or(self.interaction.usage.take());
        match event.event_type.as_deref().unwrap_or_default() {
            "interaction.created" => self.update(event.interaction.unwrap_or_default()),
            "interaction.completed" => {
                let last = event.interaction.ok_or_else(|| missing("interaction"))?;
                self.complete(last);
            }
            "step.start" => {
                self.start(event.index, event.step.ok_or_else(|| missing("step"))?, emit);
            }
            "step.delta" => {
                let delta = event.delta.ok_or_else(|| missing("delta"))?;
                self.delta(event.index, delta, emit)?;
            }
            "step.stop" => self.stop(event.index, emit),
            // `interaction.status_update`, and future events.
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ModelResponse, WireError> {
        if !self.completed {
            return Err(WireError::CutOff);
        }
        // A service that sends the steps at the end need not have sent them before.
        let last = self.interaction.take_steps()?;
        let steps = if self.steps.is_empty() {
            last
        } else {
            self.steps.into_iter().map(OpenStep::into_step).collect()
        };
        self.interaction.into_response(steps)
    }
}

impl GeminiInteractionsStream {
    fn update(&mut self, newer: InteractionIn) {
        let own = &mut self.interaction;
        own.id = newer.id.or(own.id.take());
        own.model = newer.model.or(own.model.take());
        own.usage = newer.usage.or(own.usage.take());
    }

    /// Takes the last state of the interaction, which counts for what it leaves out as well.
    fn complete(&mut self, mut last: InteractionIn) {
        self.interaction.status = last.status.take();
        self.interaction.continuation_token = last.continuation_token.take();
        self.interaction.errors = last.errors.take();
        self.interaction.steps = last.steps.take();
        self.update(last);
        self.completed = true;
    }

    fn start(&mut self, index: Option<u64>, step: StepObject, emit: &mut dyn FnMut(Delta)) {
        let place = self.steps.len();
        let text = |key: &str| step.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let begun = |key: &str| {
            let contents = step.get(key).and_then(Value::as_array).into_iter().flatten();
            contents.filter_map(|content| content.get("text")?.as_str()).collect::<String>()
        };
        match kind(&step) {
            "function_call" => {
                emit(Delta::Call { index: place, id: text("id"), name: text("name") });
            }
            "model_output" => send(begun("content"), emit, Delta::Text),
            "thought" => send(begun("summary"), emit, Delta::Reasoning),
            _ => {}
        }
        self.steps.push(OpenStep { step, arguments: None });
        self.places.insert(index.unwrap_or(place as u64), place);
    }

    fn place(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(index) => self.places.get(&index).copied(),
            None => self.steps.len().checked_sub(1),
        }
    }

    fn delta(
        &mut self,
        index: Option<u64>,
        delta: &RawValue,
        emit: &mut dyn FnMut(Delta),
    ) -> Result<(), WireError> {
        let place = self.place(index);
        let Some((place, open)) = place.and_then(|at| Some((at, self.steps.get_mut(at)?))) else {
            return Err(WireError::Invalid("a `step.delta` belongs to no step".into()));
        };
        let mut delta: StepObject = serde_json::from_str(delta.get())?;
        let kind = kind(&delta).to_owned();
        match kind.as_str() {
            "text" => {
                let text = text(&mut delta, "text")?;
                open.add_content("content", json!({"type": "text", "text": text}));
                send(text, emit, Delta::Text);
            }
            "thought_summary" => {
                let content = delta.remove("content").unwrap_or_default();
                let text = content.get("text").and_then(Value::as_str).unwrap_or_default();
                send(text.to_owned(), emit, Delta::Reasoning);
                open.add_content("summary", content);
            }
            "thought_signature" => open.append("signature", text(&mut delta, "signature")?),
            "arguments_delta" => {
                let text = text(&mut delta, "arguments")?;
                open.arguments.get_or_insert_default().push_str(&text);
                if self::kind(&open.step) == "function_call" {
                    send(text, emit, |text| Delta::Arguments { index: place, text });
                }
            }
            "image" | "audio" | "video" | "document" => {
                open.add_content("content", Value::Object(delta));
            }
            "text_annotation_delta" | "text_annotation" => open.annotate(delta),
            _ => open.merge(delta),
        }
        Ok(())
    }

    /// Emits the arguments of a call that came with its start.
    fn stop(&self, index: Option<u64>, emit: &mut dyn FnMut(Delta)) {
        let Some((place, open)) = self.place(index).and_then(|at| Some((at, self.steps.get(at)?)))
        else {
            return;
        };
        let arguments = open.step.get("arguments").filter(|arguments| {
            arguments.as_object().is_some_and(|arguments| !arguments.is_empty())
        });
        if let (None, "function_call", Some(arguments)) =
            (&open.arguments, kind(&open.step), arguments)
        {
            emit(Delta::Arguments { index: place, text: arguments.to_string() });
        }
    }
}

impl OpenStep {
    fn append(&mut self, key: &str, more: String) {
        match self.step.get_mut(key) {
            Some(Value::String(text)) => text.push_str(&more),
            _ => drop(self.step.insert(key.to_owned(), more.into())),
        }
    }

    /// Adds a content to a list; text goes on from the text before.
    fn add_content(&mut self, key: &str, content: Value) {
        let list = self.step.entry(key).or_insert_with(|| json!([]));
        if !list.is_array() {
            *list = json!([]);
        }
        let Some(list) = list.as_array_mut() else { return };
        let more = content.get("text").and_then(Value::as_str);
        match (list.last_mut().and_then(|last| last.get_mut("text")), more) {
            (Some(Value::String(text)), Some(more)) => text.push_str(more),
            _ => list.push(content),
        }
    }

    /// Adds the keys of a step of one of the service's own tools; a list goes on from that before.
    fn merge(&mut self, mut delta: StepObject) {
        delta.remove("type");
        for (key, value) in delta {
            match (self.step.get_mut(&key), value) {
                (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
                (_, value) => drop(self.step.insert(key, value)),
            }
        }
    }

    /// Adds citations to the text before.
    fn annotate(&mut self, mut delta: StepObject) {
        let Some(Value::Array(more)) = delta.remove("annotations") else { return };
        self.add_content("content", json!({"type": "text", "text": ""}));
        let last = self.step.get_mut("content").and_then(|list| list.as_array_mut()?.last_mut());
        let Some(Value::Object(text)) = last else { return };
        match text.get_mut("annotations") {
            Some(Value::Array(annotations)) => annotations.extend(more),
            _ => drop(text.insert("annotations".to_owned(), more.into())),
        }
    }

    fn into_step(self) -> StepIn {
        let Self { mut step, arguments } = self;
        let arguments = arguments.filter(|text| !text.trim().is_empty());
        if kind(&step) == "function_call" {
            return (step, arguments.map(Arguments::from));
        }
        if let Some(text) = arguments {
            let value = serde_json::from_str(&text).unwrap_or_else(|_| text.into());
            step.insert("arguments".to_owned(), value);
        }
        (step, None)
    }
}

fn send(text: String, emit: &mut dyn FnMut(Delta), delta: impl FnOnce(String) -> Delta) {
    if !text.is_empty() {
        emit(delta(text));
    }
}

fn text(delta: &mut StepObject, key: &str) -> Result<String, WireError> {
    match delta.remove(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(WireError::Invalid(format!("`{key}` of a delta is no text"))),
    }
}

fn missing(key: &str) -> WireError {
    WireError::Invalid(format!("an event has no `{key}`"))
}
