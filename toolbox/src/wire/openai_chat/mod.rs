//! `OpenAI` Chat Completions, and the many services that imitate it.

mod calls;
mod echoes;
mod history;
mod request;
mod response;
mod stream;
#[cfg(test)]
mod tests;

pub use stream::OpenAiChatStream;

use super::format::{Format, Transcript, WireError, mended, mended_history};
use crate::dialect::Dialect;
use crate::model::{ModelRequest, ModelResponse};

/// The form of `OpenAI` Chat Completions, and of the many services that imitate it.
///
/// # Options
///
/// [`ModelRequest::options`] go into the body under the names of this API: `temperature`, `top_p`,
/// `stop`, `seed`, `response_format`, `reasoning_effort`, and so on. `max_tokens` is sent as it is;
/// newer models of `OpenAI` itself want `max_completion_tokens` instead. What the request says in
/// fields of its own (`model`, `messages`, `tools`, `stream`) cannot be replaced. `tool_choice`,
/// `parallel_tool_calls` and `stream_options` can, and an option of `null` leaves the key out.
/// `parallel_tool_calls` is sent only where a request asks for one call at a time; o1, o3 and
/// o4-mini refuse it.
///
/// # What this form cannot say
///
/// There is no flag for failed results; the text says it. Results are text: images, sounds and
/// documents of a result follow in a message of the user after the last result of the step. Text
/// beside calls goes before them. Reasoning goes back only beside calls, under the name under which
/// it came: `reasoning_content`, empty or not, as `DeepSeek` and Moonshot want it, or `reasoning`,
/// as vLLM, Ollama and Groq do. What gateways
/// attach and want back goes back as it came: `reasoning_details` of `OpenRouter`,
/// `thinking_blocks` and `provider_specific_fields` of `LiteLLM`, `extra_content` of Gemini.
///
/// ```
/// use toolbox::model::{History, ModelRequest};
/// use toolbox::wire::{Format, OpenAiChat};
///
/// let request = ModelRequest::new(History::from("Hello")).with_option("temperature", 0);
/// assert_eq!(
///     OpenAiChat::body(&request, "gpt-5", false),
///     r#"{"model":"gpt-5","messages":[{"role":"user","content":"Hello"}],"temperature":0}"#,
/// );
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct OpenAiChat;

impl Format for OpenAiChat {
    const DIALECT: Dialect = Dialect::OpenAiChat;

    type Stream = OpenAiChatStream;

    fn body(request: &ModelRequest, model: &str, stream: bool) -> String {
        request::write(request, model, stream)
    }

    fn response(body: &str) -> Result<ModelResponse, WireError> {
        response::response(&mended(body))
    }

    fn history(messages: &str) -> Result<Transcript, WireError> {
        mended_history(messages, history::history)
    }
}
