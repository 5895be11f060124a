//! Gemini `generateContent`.

mod body;
mod history;
mod stream;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

pub use stream::GeminiStream;

use super::{Format, ResponseStream, Transcript, WireError};
use crate::call::{Arguments, ToolCall};
use crate::model::{Echo, ModelRequest, ModelResponse, Part};
use crate::schema::Dialect;

/// What the service takes in the place of a signature for a call that it did not make itself
/// (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
const SKIPPED_SIGNATURE: &str = "skip_thought_signature_validator";

/// The form of Gemini's `POST /v1beta/models/{model}:generateContent`, and of `:streamGenerateContent?alt=sse`.
///
/// The model and the wish for a stream stand in the address, not in the body. The model's name still matters: to models
/// of the third generation and later, images inside of results are sent, and calls of another service's model get the
/// signature that asks not to look for one; earlier models refuse the former, and get those images after the results.
///
/// Thought signatures go back on the part they came with. Ids of calls go back when the model gave them, and never
/// otherwise. There is no way to ask for one call at a time, so `parallel_tool_calls` is not sent.
///
/// [Options](ModelRequest::options) `safetySettings`, `cachedContent`, `labels`, `serviceTier`, `toolConfig` and
/// `generationConfig` are keys of the request; every other option belongs to `generationConfig`, such as
/// `thinkingConfig` or `seed`. Those with a name that all forms know:
///
/// | option | becomes | default |
/// |---|---|---|
/// | `max_tokens` | `maxOutputTokens` | not sent |
/// | `temperature` | itself | not sent |
/// | `top_p` | `topP` | not sent |
/// | `stop`, a text or several | `stopSequences` | not sent |
///
/// What a request has fields for (`contents`, `systemInstruction`, `tools`, `model`, `stream`, and what other forms call
/// these) is no option, and a tool
/// choice other than `Auto` wins over `functionCallingConfig`.
///
/// ```
/// use toolbox::model::{History, ModelRequest};
/// use toolbox::wire::{Format, Gemini};
///
/// let request = ModelRequest::new(History::from("Hello")).with_option("max_tokens", 100);
/// assert_eq!(
///     Gemini::body(&request, "gemini-2.5-flash", false),
///     concat!(
///         r#"{"generationConfig":{"maxOutputTokens":100},"#,
///         r#""contents":[{"role":"user","parts":[{"text":"Hello"}]}]}"#,
///     ),
/// );
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Gemini;

impl Format for Gemini {
    const DIALECT: Dialect = Dialect::Gemini;

    type Stream = GeminiStream;

    fn body(request: &ModelRequest, model: &str, _stream: bool) -> String {
        body::body(request, model)
    }

    fn response(body: &str) -> Result<ModelResponse, WireError> {
        let mut stream = GeminiStream::default();
        stream.event(body, &mut |_| {})?;
        stream.whole()
    }

    fn history(messages: &str) -> Result<Transcript, WireError> {
        history::history(messages)
    }
}

/// One part of a content. Services and libraries write both spellings of a key.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartIn {
    text: Option<String>,
    thought: Option<bool>,
    #[serde(alias = "thought_signature")]
    thought_signature: Option<String>,
    #[serde(alias = "function_call")]
    function_call: Option<FunctionCall>,
}

#[derive(Deserialize)]
struct FunctionCall {
    id: Option<String>,
    name: Option<String>,
    args: Option<Arguments>,
}

/// Returns the part of a reply that this is; `None` if there is nothing in it.
fn part(raw: &RawValue) -> Result<Option<Part>, WireError> {
    let Some(part) = serde_json::from_str::<Option<PartIn>>(raw.get())? else { return Ok(None) };
    let signature = part
        .thought_signature
        .filter(|signature| !signature.is_empty() && signature != SKIPPED_SIGNATURE);
    let echo = |mut echo: Map<String, Value>, signature: Option<String>| {
        if let Some(signature) = signature {
            echo.insert("thoughtSignature".to_owned(), signature.into());
        }
        (!echo.is_empty()).then(|| Echo::new(Dialect::Gemini, Value::Object(echo)))
    };
    if let Some(call) = part.function_call {
        let id = call.id.filter(|id| !id.is_empty());
        let known: Map<String, Value> = id.iter().map(|id| ("id".to_owned(), json!(id))).collect();
        let args = call.args.unwrap_or_else(|| Arguments::from("{}"));
        let name = call.name.unwrap_or_default();
        let call = ToolCall { id: id.unwrap_or_default(), name, arguments: args };
        return Ok(Some(Part::Call { call, echo: echo(known, signature) }));
    }
    if part.text.is_none() {
        let whole: Map<String, Value> = serde_json::from_str(raw.get())?;
        let about = ["thought", "thoughtSignature", "thought_signature"];
        if whole.iter().any(|(key, value)| !value.is_null() && !about.contains(&key.as_str())) {
            return Ok(Some(Part::Other(Echo::new(Dialect::Gemini, Value::Object(whole)))));
        }
    }
    let text = part.text.unwrap_or_default();
    if text.is_empty() && signature.is_none() {
        return Ok(None);
    }
    let echo = echo(Map::new(), signature);
    Ok(Some(match part.thought {
        Some(true) => Part::Reasoning { text, echo },
        _ => Part::Text { text, echo },
    }))
}
