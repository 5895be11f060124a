//! `OpenAI` Responses.

mod history;
mod items;
mod request;
mod response;
mod stream;
#[cfg(test)]
mod tests;

pub use stream::OpenAiResponsesStream;

use super::format::{Format, Transcript, WireError, mended, mended_history};
use crate::dialect::Dialect;
use crate::model::{ModelRequest, ModelResponse};

/// The form of `OpenAI` Responses, used without state on the side of the service.
///
/// # Options
///
/// [`ModelRequest::options`] go into the body under the names of this API: `temperature`, `top_p`,
/// `text`, `reasoning`, and so on. Two names of Chat Completions are understood as well, so that a
/// request can move: `max_tokens` is sent as `max_output_tokens` and `reasoning_effort` as
/// `reasoning.effort`, unless those are given too. `stop` is passed on, but this API has no such
/// thing and says so.
///
/// `store` is false and `include` asks for encrypted reasoning, without which a reasoning model
/// could not take up its thoughts after a call; models that are known to have none (`gpt-4…`,
/// `gpt-3.5…`, names with `chat`) are not asked, since the service refuses that. What the request
/// says in fields of its own (`model`, `instructions`, `input`, `tools`, `stream`) cannot be
/// replaced. `tool_choice`, `parallel_tool_calls`, `store` and `include` can, and an option of
/// `null` leaves the key out.
///
/// # Search
///
/// With a [search](ModelRequest::search), its tool is sent as the service's `tool_search`, which
/// models know from GPT-5.4 on. Calls of it are items of their own, and their outputs hold the
/// definitions of what was found; what can be found is not listed before. A reply's search is read
/// as a call of `toolbox_search_bm25`. Such an output has no place for text, so that of a search
/// without hits follows as a message. A choice of the search tool is sent as `required`.
///
/// # Programs, and results that come later
///
/// With a tool that [programs may call](crate::definition::Callers), the service's own
/// `programmatic_tool_calling` is offered too. Programs and their outputs go back as they came, and
/// each result under the caller of its call. A reply that is neither a call nor a message ends in
/// [`Finish::Pause`](crate::model::Finish::Pause): the program goes on with the next request. A
/// call of a tool that is [answered later](crate::Tool::answered_later) has no output as long as
/// its result is pending.
///
/// # What this form cannot say
///
/// There is no flag for failed results; the text says it. Sounds are only mentioned. Reasoning goes
/// back as it came, where it can be understood again: with its encrypted content, with its text, or
/// with `store: true`; and only together with what followed it. Items that wait for an output of a
/// kind the transcript does not know, such as a `computer_call`, are kept but not sent.
///
/// ```
/// use toolbox::model::{History, ModelRequest};
/// use toolbox::wire::{Format, OpenAiResponses};
///
/// let request = ModelRequest::new(History::from("Hello")).with_system("Be brief.");
/// let body = OpenAiResponses::body(&request, "gpt-5", false);
/// assert!(body.starts_with(r#"{"model":"gpt-5","instructions":"Be brief.","input":"#));
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct OpenAiResponses;

impl Format for OpenAiResponses {
    const DIALECT: Dialect = Dialect::OpenAiResponses;

    type Stream = OpenAiResponsesStream;

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
