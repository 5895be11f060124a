//! Gemini `generateContent`, the older of its two forms.

mod history;
mod request;
mod response;
mod stream;
#[cfg(test)]
mod tests;

pub(super) use request::blob;
pub use stream::GeminiStream;

use super::format::{Format, ResponseStream, Transcript, WireError, mended_history};
use crate::dialect::Dialect;
use crate::model::{ModelRequest, ModelResponse};

/// The form of Gemini's `POST /v1beta/models/{model}:generateContent`, and of
/// `:streamGenerateContent?alt=sse`: its service calls it legacy, and announces what is new for
/// [Interactions](super::GeminiInteractions) only.
///
/// The model and the wish for a stream stand in the address, not in the body. The model's name
/// still matters: to models of the third generation and later, images inside of results are sent,
/// and calls of another service's model get the signature that asks not to look for one; earlier
/// models refuse the former, and get those images after the results.
///
/// Thought signatures go back on the part they came with. Ids of calls go back when the model gave
/// them, and never otherwise. There is no way to ask for one call at a time, so
/// `parallel_tool_calls` is not sent.
///
/// [Options](ModelRequest::options) `safetySettings`, `cachedContent`, `labels`, `serviceTier`,
/// `toolConfig` and `generationConfig` are keys of the request; every other option belongs to
/// `generationConfig`, such as `thinkingConfig` or `seed`. Those with a name that all forms know:
///
/// | option | becomes | default |
/// |---|---|---|
/// | `max_tokens` | `maxOutputTokens` | not sent |
/// | `temperature` | itself | not sent |
/// | `top_p` | `topP` | not sent |
/// | `stop`, a text or several | `stopSequences` | not sent |
///
/// What a request has fields for (`contents`, `systemInstruction`, `tools`, `model`, `stream`, and
/// what other forms call these) is no option, and a tool choice other than `Auto` wins over
/// `functionCallingConfig`.
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
        request::body(request, model)
    }

    fn response(body: &str) -> Result<ModelResponse, WireError> {
        let mut stream = GeminiStream::default();
        stream.event(body, &mut |_| {})?;
        stream.whole()
    }

    fn history(messages: &str) -> Result<Transcript, WireError> {
        mended_history(messages, history::history)
    }
}
