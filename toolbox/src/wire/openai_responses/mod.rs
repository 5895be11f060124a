//! `OpenAI` Responses.

mod body;
mod read;
mod stream;
#[cfg(test)]
mod tests;

pub use stream::OpenAiResponsesStream;

use super::{Format, Transcript, WireError};
use crate::model::{ModelRequest, ModelResponse};
use crate::schema::Dialect;

const D: Dialect = Dialect::OpenAiResponses;

/// The form of `OpenAI` Responses, used without state on the side of the service.
///
/// # Options
///
/// [`ModelRequest::options`] go into the body under the names of this API: `temperature`, `top_p`, `text`, `reasoning`, and
/// so on. Two names of Chat Completions are understood as well, so that a request can move: `max_tokens` is sent as
/// `max_output_tokens` and `reasoning_effort` as `reasoning.effort`, unless those are given too. `stop` is passed on,
/// but this API has no such thing and says so.
///
/// `store` is false and `include` asks for encrypted reasoning, without which a reasoning model could not take up
/// its thoughts after a call; models that are known to have none (`gpt-4…`, `gpt-3.5…`, names with `chat`) are not asked,
/// since the service refuses that. What the request says in fields of its own (`model`, `instructions`, `input`,
/// `tools`, `stream`) cannot be replaced. `tool_choice`, `parallel_tool_calls`, `store` and `include` can, and an option
/// of `null` leaves the key out.
///
/// # What this form cannot say
///
/// There is no flag for failed results; the text says it. Sounds are only mentioned. Reasoning goes back as it came, where it can be
/// understood again: with its encrypted content, with its text, or with `store: true`; and only together with what
/// followed it. Items that wait for an output of a kind the transcript does not know, such as a `computer_call`, are
/// kept but not sent.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct OpenAiResponses;

impl Format for OpenAiResponses {
    const DIALECT: Dialect = D;

    type Stream = OpenAiResponsesStream;

    fn body(request: &ModelRequest, model: &str, stream: bool) -> String {
        body::write(request, model, stream)
    }

    fn response(body: &str) -> Result<ModelResponse, WireError> {
        read::response(body)
    }

    fn history(messages: &str) -> Result<Transcript, WireError> {
        read::history(messages)
    }
}
