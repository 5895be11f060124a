//! Reads a reply of Gemini Interactions, event by event.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::response::{FAILURE_WORDS, InteractionIn, StepIn, StepObject, TokenCounts, kind};
use crate::call::Arguments;
use crate::model::{Delta, ModelResponse};
use crate::wire::failure::service_error;
use crate::wire::format::mended;
use crate::wire::lenient;
use crate::wire::pieces::{OpenParts, begun_arguments, same_arguments};
use crate::wire::{ResponseStream, WireError};

/// Reads a streamed reply of [`GeminiInteractions`](super::GeminiInteractions): from
/// `interaction.created` to `interaction.completed`.
///
/// The last event has the status and the token counts, and no steps: those are put together from
/// their pieces. A reply with a call whose step did not end is cut off, and none of its calls is
/// run.
#[derive(Debug, Default)]
pub struct GeminiInteractionsStream {
    steps: Vec<OpenStep>,
    parts: OpenParts,
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
    #[serde(default, deserialize_with = "lenient::text")]
    event_type: Option<String>,
    #[serde(default, deserialize_with = "lenient::count")]
    index: Option<u64>,
    step: Option<StepObject>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    interaction: Option<InteractionIn>,
    #[serde(default, deserialize_with = "lenient::object")]
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
        let data = &*mended(data);
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
            kind if self.completed && kind.starts_with("step.") => {
                return Err(WireError::Invalid(format!("a `{kind}` follows after the end")));
            }
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
            "step.stop" => self.stop(event.index, emit)?,
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
        if self.steps.is_empty() {
            return self.interaction.into_response(last);
        }
        let steps: Result<Vec<StepIn>, _> =
            self.steps.into_iter().map(OpenStep::into_step).collect();
        let steps = steps?;
        let called = |steps: &[StepIn]| {
            let calls = steps.iter().filter(|(step, _)| kind(step) == "function_call");
            calls.map(|(step, _)| step.get("name").cloned()).collect::<Vec<_>>()
        };
        let is_same = last.is_empty() || called(&last) == called(&steps);
        let response = self.interaction.into_response(steps)?;
        match () {
            () if !response.reply.finish.allows_calls() => {}
            () if self.parts.has_open_call() => return Err(WireError::CutOff),
            () if !is_same => {
                let what = "the steps of the last event make other calls than those before it";
                return Err(WireError::Invalid(what.into()));
            }
            () => {}
        }
        Ok(response)
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
        let place = self.parts.start(index, kind(&step) == "function_call");
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
    }

    fn delta(
        &mut self,
        index: Option<u64>,
        delta: &RawValue,
        emit: &mut dyn FnMut(Delta),
    ) -> Result<(), WireError> {
        let place = self.parts.place(index)?;
        let Some((place, open)) = place.and_then(|at| Some((at, self.steps.get_mut(at)?))) else {
            return Err(WireError::Invalid("a `step.delta` belongs to no step".into()));
        };
        if open.is_call() && !self.parts.is_open_call(place) {
            return Err(WireError::Invalid("a `step.delta` follows its step".into()));
        }
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
                if matches!(self::kind(&open.step), "model_output" | "thought") {
                    return Err(WireError::Invalid("arguments belong to no call".into()));
                }
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

    /// Ends a step, and emits the arguments of a call that came with its start.
    fn stop(&mut self, index: Option<u64>, emit: &mut dyn FnMut(Delta)) -> Result<(), WireError> {
        let Some(place) = self.parts.place(index)? else { return Ok(()) };
        let open = &self.steps[place];
        let has_pieces = open.arguments.as_ref().is_some_and(|text| !text.trim().is_empty());
        if !self.parts.stop(place) || has_pieces {
            return Ok(());
        }
        if let Some(text) = open.step.get("arguments").and_then(begun_arguments) {
            emit(Delta::Arguments { index: place, text });
        }
        Ok(())
    }
}

impl OpenStep {
    fn is_call(&self) -> bool {
        kind(&self.step) == "function_call"
    }

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

    fn into_step(self) -> Result<StepIn, WireError> {
        let Self { mut step, arguments } = self;
        let arguments = arguments.filter(|text| !text.trim().is_empty());
        if kind(&step) == "function_call" {
            same_arguments(step.get("arguments"), arguments.as_deref().unwrap_or_default())?;
            return Ok((step, arguments.map(Arguments::from)));
        }
        if let Some(text) = arguments {
            let value = serde_json::from_str(&text).unwrap_or_else(|_| text.into());
            step.insert("arguments".to_owned(), value);
        }
        Ok((step, None))
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
