//! Anthropic Messages.

mod history;
mod programs;
mod request;
mod response;
mod stream;
#[cfg(test)]
mod tests;

pub use stream::AnthropicStream;

use super::format::{Format, Transcript, WireError, mended, mended_history};
use crate::dialect::Dialect;
use crate::model::{ModelRequest, ModelResponse};

/// The form of Anthropic's `POST /v1/messages`, header `anthropic-version: 2023-06-01`.
///
/// Thinking goes back as it came, and so do blocks of tools that the service runs itself. Citations
/// of a text are not kept. A transcript from another service is sent without that service's
/// reasoning; the option `thinking` is then left out until the user speaks again, because the
/// service refuses calls that no thinking stands before.
///
/// [Options](ModelRequest::options) are keys of the request, such as `thinking`, `metadata`,
/// `cache_control` or `top_k`. Those with a name that all forms know:
///
/// | option | becomes | default |
/// |---|---|---|
/// | `max_tokens` | itself | 8192, beside the budget of thinking |
/// | `temperature`, `top_p` | itself, for models that still take it | not sent |
/// | `stop`, a text or several | `stop_sequences` | not sent |
///
/// The option `eager_input_streaming` goes to each tool: with `true`, the pieces of arguments come
/// as the model writes them, and may be no JSON when the reply is cut off.
///
/// With a [search](ModelRequest::search), the tools that can be found stand in the list with
/// `defer_loading`, and the result of a search is a list of references to them; a result that
/// refers to a tool that is not there is its text, as is one that found nothing. Above 10 000
/// tools, which is all the service takes, only those are listed that were found before. Examples of
/// arguments are left out, because the service takes none then.
///
/// With a tool that [programs may call](crate::definition::Callers), the service's own
/// `code_execution` is offered too, no call is forced, and calls are not limited to one. The
/// results for a program are sent alone, as text and with the container it waits in: a message of
/// the user that stands behind them follows with the next message.
///
/// What a request has fields for (`model`, `messages`, `system`, `tools`, `tool_choice`, `stream`,
/// and what other forms call these) is no option. A choice that forces a call becomes `auto` beside
/// thinking, which does not go with it.
///
/// ```
/// use toolbox::model::{History, ModelRequest};
/// use toolbox::wire::{Anthropic, Format};
///
/// let request = ModelRequest::new(History::from("Hello")).with_option("max_tokens", 100);
/// assert_eq!(
///     Anthropic::body(&request, "claude-sonnet-4-5", false),
///     concat!(
///         r#"{"model":"claude-sonnet-4-5","max_tokens":100,"#,
///         r#""messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}]}"#,
///     ),
/// );
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Anthropic;

impl Format for Anthropic {
    const DIALECT: Dialect = Dialect::Anthropic;

    type Stream = AnthropicStream;

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
