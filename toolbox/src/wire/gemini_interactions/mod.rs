//! Gemini Interactions.

mod history;
mod request;
mod response;
mod state;
mod stream;
#[cfg(test)]
mod tests;

pub use stream::GeminiInteractionsStream;

use super::format::{Format, Transcript, WireError, mended, mended_history};
use crate::dialect::Dialect;
use crate::model::{ModelRequest, ModelResponse};

/// The form of Gemini's `POST /v1beta/interactions`, header `api-revision: 2026-05-20`.
///
/// A reply is a list of steps. Thoughts go back exactly as they came, and so do the steps of tools
/// that the service runs itself, and outputs that hold more than text. Every call has an id, and a
/// failed result says so by `is_error`. There is no way to ask for one call at a time, so
/// `parallel_tool_calls` is not sent, and a [search](ModelRequest::search) is left out.
///
/// # Options
///
/// [Options](ModelRequest::options) `background`, `environment`, `labels`, `response_format`,
/// `safety_settings`, `service_tier`, `webhook_config` and the deprecated `cached_content`,
/// `response_mime_type` and `response_modalities` are keys of the request; every other option
/// belongs to `generation_config`, such as `thinking_level` or `seed`. Those with a name that all
/// forms know:
///
/// | option | becomes | default |
/// |---|---|---|
/// | `max_tokens` | `max_output_tokens` | not sent |
/// | `temperature`, `top_p` | itself, which the service calls deprecated | not sent |
/// | `stop`, a text or several | `stop_sequences` | not sent |
///
/// What a request has fields for (`input`, `system_instruction`, `tools`, `model`, `stream`, and
/// what other forms call these) is no option, and a tool choice other than `Auto` wins over
/// `tool_choice`. An interaction that runs in the background is no reply yet, and an error.
///
/// # State
///
/// `store` is false, and every request holds the whole transcript. With the option `store: true`,
/// the service keeps the interactions, and a request names the last one and holds only what came
/// after it, if the transcript up to there is unchanged; [`remembered`](Self::remembered) keeps the
/// id in the reply.
///
/// A reply that reached the limit of one request ends in
/// [`Finish::Pause`](crate::model::Finish::Pause), and its calls may not be run. The next request
/// with that transcript goes on from there: the reply that follows holds only the rest.
///
/// ```
/// use toolbox::model::{History, ModelRequest};
/// use toolbox::wire::{Format, GeminiInteractions};
///
/// let request = ModelRequest::new(History::from("Hello")).with_option("max_tokens", 100);
/// assert_eq!(
///     GeminiInteractions::body(&request, "gemini-2.5-flash", false),
///     concat!(
///         r#"{"model":"gemini-2.5-flash","generation_config":{"max_output_tokens":100},"#,
///         r#""store":false,"input":[{"type":"user_input","#,
///         r#""content":[{"type":"text","text":"Hello"}]}]}"#,
///     ),
/// );
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct GeminiInteractions;

impl Format for GeminiInteractions {
    const DIALECT: Dialect = Dialect::GeminiInteractions;

    type Stream = GeminiInteractionsStream;

    fn body(request: &ModelRequest, model: &str, stream: bool) -> String {
        request::body(request, model, stream)
    }

    fn response(body: &str) -> Result<ModelResponse, WireError> {
        response::response(&mended(body))
    }

    fn history(messages: &str) -> Result<Transcript, WireError> {
        mended_history(messages, history::history)
    }
}

impl GeminiInteractions {
    /// Returns the response to a request; if its option `store` is true, with a part that names the
    /// interaction, so that the next request can go on from there.
    ///
    /// ```
    /// use toolbox::model::{History, ModelRequest, Replied};
    /// use toolbox::wire::{Format, GeminiInteractions, WireError};
    ///
    /// let request = ModelRequest::new(History::from("Hello")).with_option("store", true);
    /// let body = r#"{"id": "v1_a", "status": "completed", "steps":
    ///     [{"type": "model_output", "content": [{"type": "text", "text": "Hi!"}]}]}"#;
    /// let response = GeminiInteractions::response(body)?;
    /// let response = GeminiInteractions::remembered(&request, response);
    ///
    /// let replied = request.history.reply(response.reply);
    /// let Replied::Answer(mut history) = replied else { unreachable!() };
    /// history.push_user("How are you?");
    /// let request = ModelRequest::new(history).with_option("store", true);
    /// let body = GeminiInteractions::body(&request, "gemini-2.5-flash", false);
    /// assert!(body.contains(r#""previous_interaction_id":"v1_a""#) && !body.contains("Hello"));
    /// # Ok::<(), WireError>(())
    /// ```
    #[must_use]
    pub fn remembered(request: &ModelRequest, response: ModelResponse) -> ModelResponse {
        state::remembered(request, response)
    }

    /// Returns the request with which a paused response to a request goes on; `None` if it is
    /// complete, or made no progress since the last request.
    #[cfg(feature = "gemini")]
    pub(crate) fn continuation(
        request: &ModelRequest,
        last: &ModelRequest,
        response: &ModelResponse,
    ) -> Option<ModelRequest> {
        state::continuation(request, last, &response.reply)
    }

    /// Joins a paused response and the one it went on with.
    #[cfg(feature = "gemini")]
    pub(crate) fn joined(before: ModelResponse, mut next: ModelResponse) -> ModelResponse {
        next.reply = state::joined(before.reply, next.reply);
        next.usage += before.usage;
        next
    }
}
