//! Reads the steps of a reply.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::call::{Arguments, ToolCall};
use crate::dialect::Dialect;
use crate::model::{Echo, Finish, ModelResponse, Part, Reply, Usage};
use crate::wire::WireError;
use crate::wire::ended::finish_of;
use crate::wire::failure::service_error;
use crate::wire::lenient;

/// A step of an interaction, as the service writes it.
pub(super) type StepObject = Map<String, Value>;

/// The keys under which the service states the kind of a failure.
pub(super) const FAILURE_WORDS: [&str; 3] = ["code", "status", "type"];

/// The key of the token with which a paused reply goes on.
pub(super) const TOKEN: &str = "continuation_token";

/// The keys of a call that are written from the call itself.
pub(super) const CALL_KEYS: [&str; 4] = ["type", "id", "name", "arguments"];

/// An interaction: whole, or as an event of a stream tells of it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct InteractionIn {
    #[serde(default, deserialize_with = "lenient::id")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "lenient::id")]
    pub(super) model: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) status: Option<String>,
    pub(super) steps: Option<Vec<Box<RawValue>>>,
    #[serde(default, deserialize_with = "lenient::object")]
    pub(super) usage: Option<TokenCounts>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) continuation_token: Option<String>,
    pub(super) errors: Option<Vec<Value>>,
    error: Option<Value>,
}

/// A step with the text of its arguments, where that is known exactly.
pub(super) type StepIn = (StepObject, Option<Arguments>);

pub(super) fn response(body: &str) -> Result<ModelResponse, WireError> {
    let mut interaction: InteractionIn = serde_json::from_str(body)?;
    if let Some(error) = interaction.error.as_ref().filter(|error| !error.is_null()) {
        return Err(service_error(error, &FAILURE_WORDS));
    }
    if interaction.steps.is_none() && interaction.status.is_none() {
        return Err(WireError::Invalid("there are no `steps`".into()));
    }
    let steps = interaction.take_steps()?;
    interaction.into_response(steps)
}

impl InteractionIn {
    /// Takes the steps that came with it.
    pub(super) fn take_steps(&mut self) -> Result<Vec<StepIn>, WireError> {
        let steps = self.steps.take().unwrap_or_default();
        let steps = steps.iter().filter_map(|raw| step(raw).transpose());
        steps.collect()
    }

    /// Returns the reply that is made of steps.
    pub(super) fn into_response(self, steps: Vec<StepIn>) -> Result<ModelResponse, WireError> {
        let status = self.status.as_deref().unwrap_or("completed");
        match status {
            "failed" | "cancelled" => return Err(self.failure(status, &steps)),
            "in_progress" | "queued" => {
                let message = format!("the interaction is not done: `{status}`");
                return Err(WireError::Invalid(message));
            }
            _ => {}
        }
        let is_paused = status == "requires_continuation";
        let mut parts = Vec::with_capacity(steps.len());
        for (step, arguments) in steps {
            parts.extend(if is_paused {
                paused_part(step, arguments)?
            } else {
                part(step, arguments)?
            });
        }
        if let (true, Some(token)) = (is_paused, &self.continuation_token) {
            parts.push(paused(token, self.id.as_deref()));
        }
        let reply = Reply::new(parts);
        let finish = match status {
            "completed" => reply.finish.clone(),
            "requires_action" if reply.finish == Finish::Calls => Finish::Calls,
            "incomplete" | "budget_exceeded" => Finish::Length,
            "requires_continuation" => Finish::Pause,
            other => finish_of(other, reply.finish == Finish::Calls),
        };
        Ok(ModelResponse {
            reply: reply.with_finish(finish),
            usage: self.usage.unwrap_or_default().total(),
            model: self.model,
            id: self.id.filter(|id| !id.is_empty()),
        })
    }

    fn failure(&self, status: &str, steps: &[StepIn]) -> WireError {
        let own = self.errors.iter().flatten().next();
        let of_step = || steps.iter().find_map(|(step, _)| step.get("error"));
        match own.or_else(of_step) {
            Some(error) => service_error(error, &FAILURE_WORDS),
            None => WireError::Service {
                kind: status.to_owned(),
                message: format!("the interaction is {status}, without a reason"),
            },
        }
    }
}

/// Returns the part that keeps the token of a paused reply.
fn paused(token: &str, id: Option<&str>) -> Part {
    let value = json!({TOKEN: token, "id": id.filter(|id| !id.is_empty())});
    Part::Other(Echo::new(Dialect::GeminiInteractions, value))
}

/// The token counts of an interaction; thoughts are no part of the output.
#[derive(Debug, Default, Deserialize)]
pub(super) struct TokenCounts {
    #[serde(rename = "total_input_tokens")]
    #[serde(default, deserialize_with = "lenient::count")]
    input: Option<u64>,
    #[serde(rename = "total_tool_use_tokens")]
    #[serde(default, deserialize_with = "lenient::count")]
    tool_use: Option<u64>,
    #[serde(rename = "total_cached_tokens")]
    #[serde(default, deserialize_with = "lenient::count")]
    cached: Option<u64>,
    #[serde(rename = "total_output_tokens")]
    #[serde(default, deserialize_with = "lenient::count")]
    output: Option<u64>,
    #[serde(rename = "total_thought_tokens")]
    #[serde(default, deserialize_with = "lenient::count")]
    thought: Option<u64>,
}

impl TokenCounts {
    fn total(&self) -> Usage {
        let sum = |a: Option<u64>, b: Option<u64>| a.unwrap_or(0).saturating_add(b.unwrap_or(0));
        Usage {
            input_tokens: sum(self.input, self.tool_use),
            output_tokens: sum(self.output, self.thought),
            cache_read_input_tokens: self.cached.unwrap_or(0),
            cache_creation_input_tokens: 0,
            reasoning_tokens: self.thought.unwrap_or(0),
        }
    }
}

/// Reads a step; `None` for `null`.
pub(super) fn step(raw: &RawValue) -> Result<Option<StepIn>, WireError> {
    #[derive(Deserialize)]
    struct CallArguments {
        arguments: Option<Arguments>,
    }
    let Some(step) = serde_json::from_str::<Option<StepObject>>(raw.get())? else {
        return Ok(None);
    };
    if kind(&step) != "function_call" {
        return Ok(Some((step, None)));
    }
    // Numbers of arguments stay as they are written.
    let CallArguments { arguments } = serde_json::from_str(raw.get())?;
    Ok(Some((step, arguments)))
}

pub(super) fn kind(step: &StepObject) -> &str {
    step.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the part of a step; `None` if it is empty, or not the model's.
pub(super) fn part(
    step: StepObject,
    arguments: Option<Arguments>,
) -> Result<Option<Part>, WireError> {
    Ok(Some(match kind(&step) {
        "" => return Err(WireError::Invalid("a step has no `type`".into())),
        "user_input" | "function_result" => return Ok(None),
        "function_call" => call(step, arguments)?,
        "thought" => {
            let text = texts(step.get("summary"));
            Part::Reasoning { text, echo: Some(echo(step)) }
        }
        "model_output" => match output(&step) {
            (text, true) if text.is_empty() => return Ok(None),
            (text, true) => Part::text(text),
            (text, false) if text.is_empty() => Part::Other(echo(step)),
            (text, false) => Part::Text { text, echo: Some(echo(step)) },
        },
        _ => Part::Other(echo(step)),
    }))
}

/// Returns the part of a step in a reply that has yet to go on: its calls may not be run.
fn paused_part(
    mut step: StepObject,
    arguments: Option<Arguments>,
) -> Result<Option<Part>, WireError> {
    if kind(&step) != "function_call" {
        return part(step, arguments);
    }
    if let Some(arguments) = arguments {
        let text = arguments.as_str();
        let value = serde_json::from_str(text).unwrap_or_else(|_| text.into());
        step.insert("arguments".to_owned(), value);
    }
    Ok(Some(Part::Other(echo(step))))
}

fn call(mut step: StepObject, arguments: Option<Arguments>) -> Result<Part, WireError> {
    let arguments = arguments.or_else(|| match step.remove("arguments")? {
        Value::Null => None,
        Value::String(text) => Some(Arguments::from(text)),
        other => Some(Arguments::from(other)),
    });
    let arguments = arguments.filter(|arguments| !arguments.as_str().trim().is_empty());
    let call = ToolCall::new(
        step.get("id").and_then(lenient::id_in).unwrap_or_default(),
        take_text(&mut step, "name")?,
        arguments.unwrap_or_else(|| Arguments::from("{}")),
    );
    // Keys that are not known yet go back with the call.
    step.retain(|key, value| !value.is_null() && !CALL_KEYS.contains(&key.as_str()));
    Ok(Part::Call { call, echo: (!step.is_empty()).then(|| echo(step)) })
}

fn take_text(step: &mut StepObject, key: &str) -> Result<String, WireError> {
    match step.remove(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(WireError::Invalid(format!("`{key}` of a call is no text"))),
    }
}

fn echo(step: StepObject) -> Echo {
    Echo::new(Dialect::GeminiInteractions, Value::Object(step))
}

/// Returns the text of an output of the model, and `true` if the output is nothing but that.
pub(super) fn output(step: &StepObject) -> (String, bool) {
    let is_set = |(key, value): (&String, &Value), known: &[&str]| {
        value.is_null() || known.contains(&key.as_str())
    };
    let is_text = |content: &Value| {
        content.as_object().is_some_and(|content| {
            kind(content) == "text" && content.iter().all(|pair| is_set(pair, &["type", "text"]))
        })
    };
    let content = step.get("content").filter(|content| !content.is_null());
    let is_plain = step.iter().all(|pair| is_set(pair, &["type", "content"]))
        && content
            .is_none_or(|content| content.as_array().is_some_and(|all| all.iter().all(is_text)));
    (texts(content), is_plain)
}

/// Returns the texts of a list of contents, joined.
fn texts(contents: Option<&Value>) -> String {
    let contents = contents.and_then(Value::as_array).into_iter().flatten();
    contents.filter_map(|content| content.get("text")?.as_str()).collect()
}

/// Returns `true` for a step that has no part of its own and goes back as it came.
pub(super) fn is_opaque(step: &StepObject) -> bool {
    match kind(step) {
        // Not the model's, or written from parts of their own; and contents, which are no steps.
        "" | "user_input" | "function_result" | "function_call" | "thought" | "text" | "image"
        | "audio" | "document" | "video" => false,
        "model_output" => matches!(output(step), (text, false) if text.is_empty()),
        _ => true,
    }
}
