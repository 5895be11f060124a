//! Requests to a model, its replies, and the transcript between them.
//!
//! A [`Model`] answers a [`ModelRequest`] with a [`ModelResponse`]. A [`History`] is a transcript
//! in which every call has its result: one with an unanswered call is another type, [`Unanswered`],
//! which cannot be sent.
//!
//! ```
//! use toolbox::model::{History, Part, Replied, Reply};
//! use toolbox::{Tool, ToolBox, ToolCall};
//!
//! let reply = Reply::new(vec![Part::call(ToolCall::new("c1", "ping", "{}"))]);
//! let Replied::Calls(open) = History::from("Is it up?").reply(reply) else { unreachable!() };
//! let toolbox = ToolBox::from(Tool::new("ping", "Answers").call(|_| "pong"));
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! let results = runtime.block_on(toolbox.call_all(open.calls()));
//! let history = open.answer(results);
//! assert_eq!(history.steps().count(), 1);
//! ```
//!
//! | to | see |
//! |---|---|
//! | implement a model | [`Model`], [`Deltas`], [`ModelError`], [`ModelErrorKind`] |
//! | fall back on another model | [`Fallback`] |
//! | write a request | [`ModelRequest`], [`ToolChoice`], [`ToolSearch`] |
//! | read a reply | [`ModelResponse`], [`Reply`], [`Part`], [`Finish`], [`Usage`] |
//! | count what it costs | [`ModelRequest::tokens`], [`RequestTokens`], [`MessageTokens`] |
//! | see what ends the cached prefix of a prompt | [`ModelRequest::prefix_changed_since`], [`PrefixChanged`], [`PrefixCause`] |
//! | keep a transcript | [`History`], [`Message`], [`Step`], [`Replied`], [`Unanswered`] |

mod call_ids;
mod edit;
mod error;
mod fallback;
mod history;
mod prefix;
mod prompt;
mod reply;
mod request;
mod stored;
mod text;
mod tokens;

#[cfg(test)]
mod tests;

pub(crate) use edit::HistoryEdit;
pub use error::{ModelError, ModelErrorKind};
pub use fallback::Fallback;
pub(crate) use history::is_too_deep;
pub use history::{
    FoundMessage, History, HistoryRepair, Message, Replied, Step, Unanswered, UserContent,
};
pub use prefix::{PrefixCause, PrefixChanged};
pub use reply::{Echo, Finish, ModelResponse, Part, Reply, Usage};
pub use request::{ModelRequest, ToolChoice, ToolSearch};
pub(crate) use stored::{deserialize_results, serialize_results};
pub(crate) use tokens::{CountedHistory, result_tokens, sum as token_sum};
pub use tokens::{MessageTokens, RequestTokens};

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::future::BoxFuture;

/// A model that answers a request with a reply: an HTTP service, a local model, a script.
///
/// ```
/// use toolbox::BoxFuture;
/// use toolbox::model::{Deltas, Model, ModelError, ModelRequest, ModelResponse, Reply};
///
/// struct Parrot;
///
/// impl Model for Parrot {
///     fn name(&self) -> &str {
///         "parrot-1"
///     }
///
///     fn respond<'a>(
///         &'a self,
///         request: &'a ModelRequest,
///         _deltas: Deltas<'a>,
///     ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
///         Box::pin(async move {
///             let text = request.history.last_user_text().unwrap_or_default();
///             Ok(ModelResponse::from(Reply::text(text)))
///         })
///     }
/// }
/// ```
///
/// A model that wraps another sees the context of the run in [`ModelRequest::context`]:
///
/// ```
/// use toolbox::BoxFuture;
/// use toolbox::context::Principal;
/// use toolbox::model::{Deltas, Model, ModelError, ModelErrorKind, ModelRequest, ModelResponse};
///
/// /// Answers members alone.
/// struct MembersOnly<M>(M);
///
/// impl<M: Model> Model for MembersOnly<M> {
///     fn name(&self) -> &str {
///         self.0.name()
///     }
///
///     fn respond<'a>(
///         &'a self,
///         request: &'a ModelRequest,
///         deltas: Deltas<'a>,
///     ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
///         Box::pin(async move {
///             if !Principal::of(&request.context).as_str().starts_with("member:") {
///                 return Err(ModelError::new(ModelErrorKind::Unauthorized, "not a member"));
///             }
///             self.0.respond(request, deltas).await
///         })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model",
    label = "an agent cannot ask this",
    note = "a model of a service is `toolbox::provider::OpenAi`, `Anthropic` or `Gemini`, each behind a feature of its name",
    note = "for tests there is `toolbox::testing::ScriptedModel`; for your own, implement `toolbox::Model`"
)]
pub trait Model: Send + Sync + 'static {
    /// Returns the model's name, as its service knows it; for traces.
    fn name(&self) -> &str;

    /// Returns the service's name as the OpenTelemetry conventions list it, such as `openai`,
    /// `anthropic` or `gcp.gemini`; for traces. Default `custom`.
    fn provider(&self) -> &'static str {
        "custom"
    }

    /// Returns `true` if it is a program in place of a model: its replies cost nothing, and count
    /// as no requests of a budget. Default `false`.
    fn is_program(&self) -> bool {
        false
    }

    /// Answers one request.
    ///
    /// Where `deltas` are [wanted](Deltas::are_wanted), a model that can stream sends pieces as
    /// they come; the response is the whole reply all the same.
    ///
    /// # Errors
    ///
    /// [`ModelError`], if there is no reply. The model itself has made the retries that are
    /// worthwhile.
    ///
    /// # Cancellation
    ///
    /// Dropping the future must end the request.
    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>>;
}

/// Returns the name of the operation that asks a model of a service, by the OpenTelemetry
/// conventions.
pub(crate) fn operation_name(provider: &str) -> &'static str {
    if provider.starts_with("gcp.") { "generate_content" } else { "chat" }
}

macro_rules! pointers {
    ($($pointer:ident),*) => {$(
        #[diagnostic::do_not_recommend]
        impl<M: Model + ?Sized> Model for $pointer<M> {
            fn name(&self) -> &str {
                (**self).name()
            }

            fn provider(&self) -> &'static str {
                (**self).provider()
            }

            fn respond<'a>(
                &'a self,
                request: &'a ModelRequest,
                deltas: Deltas<'a>,
            ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
                (**self).respond(request, deltas)
            }
        }
    )*};
}

pointers!(Arc, Box);

/// A piece of a reply that is still being written.
///
/// ```
/// use std::sync::Mutex;
/// use toolbox::model::{Delta, Deltas};
///
/// let text = Mutex::new(String::new());
/// let print = |delta: Delta| {
///     if let Delta::Text(piece) = delta {
///         text.lock().unwrap().push_str(&piece);
///     }
/// };
/// Deltas::to(&print).send(Delta::Text("It rains".to_owned()));
/// assert_eq!(*text.lock().unwrap(), "It rains");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delta {
    /// More text of the answer.
    Text(String),
    /// More of the model's reasoning, if the service discloses it.
    Reasoning(String),
    /// A call began.
    Call {
        /// The index of the part in the reply, from zero; later pieces of the same call carry the
        /// same index.
        index: usize,
        /// The id, as the service gave it; empty where it gives none.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// More text of a call's arguments.
    Arguments {
        /// The index of the call's part.
        index: usize,
        /// The text.
        text: String,
    },
}

/// The receiver of the pieces of a reply while a model writes it; discards them if there is no
/// listener.
///
/// ```
/// use toolbox::model::{Delta, Deltas};
///
/// let ignored = Deltas::none();
/// assert!(!ignored.are_wanted()); // so a model need not stream
/// ignored.send(Delta::Text("nobody reads this".to_owned()));
/// ```
#[derive(Clone, Copy, Default)]
pub struct Deltas<'a>(Option<&'a (dyn Fn(Delta) + Send + Sync)>);

impl<'a> Deltas<'a> {
    /// Returns a sink that discards pieces and reports that they are not wanted.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Returns a sink that passes each piece to `sink`.
    #[must_use]
    pub fn to(sink: &'a (dyn Fn(Delta) + Send + Sync)) -> Self {
        Self(Some(sink))
    }

    /// Returns `true` if there is a listener; otherwise a model need not stream.
    #[must_use]
    pub fn are_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Sends a piece.
    pub fn send(&self, delta: Delta) {
        if let Some(sink) = self.0 {
            sink(delta);
        }
    }
}

impl fmt::Debug for Deltas<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Deltas").field(&self.are_wanted()).finish()
    }
}
