//! The trait that all formats implement.

use std::borrow::Cow;
use std::fmt;

use crate::dialect::Dialect;
use crate::model::{Delta, History, HistoryRepair, ModelRequest, ModelResponse};
use crate::text::mend_halves;

/// The form in which a service takes requests and writes replies.
///
/// ```
/// use toolbox::model::{History, ModelRequest};
/// use toolbox::wire::{Anthropic, Format, OpenAiChat};
///
/// /// Works for each service alike.
/// fn body<F: Format>(question: &str, model: &str) -> String {
///     F::body(&ModelRequest::new(History::from(question)), model, false)
/// }
///
/// assert!(body::<OpenAiChat>("Hello", "gpt-5").starts_with(r#"{"model":"gpt-5""#));
/// assert!(body::<Anthropic>("Hello", "claude-sonnet-4-5").contains("messages"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the format of a service",
    label = "this writes no requests and reads no replies",
    note = "the formats are the types of `toolbox::wire`: `OpenAiChat`, `OpenAiResponses`, `Anthropic`, `GeminiInteractions`, `Gemini`"
)]
pub trait Format: Send + Sync + 'static {
    /// The dialect of its tool lists and of the data it wants echoed.
    const DIALECT: Dialect;

    /// The reader of a streamed reply.
    type Stream: ResponseStream + Default;

    /// Writes the body of a request, as JSON. `model` is the service's name of the model; `stream`
    /// requests events.
    fn body(request: &ModelRequest, model: &str, stream: bool) -> String;

    /// Reads the body of a whole reply.
    ///
    /// # Errors
    ///
    /// [`WireError`] if it is not one.
    fn response(body: &str) -> Result<ModelResponse, WireError>;

    /// Reads a transcript written in this form: the JSON array of its messages, with the repairs
    /// that were needed.
    ///
    /// # Errors
    ///
    /// [`WireError`] if it is no array of messages.
    fn history(messages: &str) -> Result<Transcript, WireError>;
}

/// A transcript read from a service's own form.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Transcript {
    /// The system instructions.
    pub system: Option<String>,
    /// The messages.
    pub history: History,
    /// The repairs that were needed.
    pub repairs: Vec<HistoryRepair>,
}

/// The members that hold the arguments of calls, each with the first byte of its value.
const ARGUMENTS: [(&str, u8); 6] = [
    ("arguments", b'{'),
    ("arguments", b'"'),
    ("args", b'{'),
    ("args", b'"'),
    ("input", b'{'),
    ("partial_json", b'"'),
];

/// Returns the data of a reply with U+FFFD in place of each half of a character.
pub(super) fn mended(data: &str) -> Cow<'_, str> {
    let (mended, halves) = mend_halves(data, &ARGUMENTS);
    if halves > 0 {
        tracing::warn!(halves, "a reply held halves of characters, now U+FFFD");
    }
    mended
}

/// Reads a transcript with U+FFFD in place of each half of a character.
pub(super) fn mended_history(
    messages: &str,
    read: fn(&str) -> Result<Transcript, WireError>,
) -> Result<Transcript, WireError> {
    let (messages, count) = mend_halves(messages, &ARGUMENTS);
    let mut transcript = read(&messages)?;
    if count > 0 {
        transcript.repairs.push(HistoryRepair::HalfCharacters { count });
    }
    Ok(transcript)
}

/// A reply that comes in pieces; [`Events`](super::Events) splits an HTTP body into them.
///
/// ```
/// use toolbox::model::{Delta, ModelResponse};
/// use toolbox::wire::{Format, OpenAiChat, ResponseStream, WireError};
///
/// fn read(events: &[&str]) -> Result<ModelResponse, WireError> {
///     let mut stream = <OpenAiChat as Format>::Stream::default();
///     for event in events {
///         stream.event(event, &mut |delta| {
///             if let Delta::Text(text) = delta {
///                 print!("{text}");
///             }
///         })?;
///     }
///     stream.finish()
/// }
///
/// assert_eq!(read(&[]).unwrap_err(), WireError::CutOff);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not read the events of a reply",
    label = "this is no reader of a streamed reply",
    note = "that of a format is its associated type: `<toolbox::wire::OpenAiChat as toolbox::wire::Format>::Stream`"
)]
pub trait ResponseStream: Send {
    /// Takes the data of one event, and emits its deltas. An end marker such as `[DONE]` is an
    /// event like any other.
    ///
    /// # Errors
    ///
    /// [`WireError`] if it is no event of this form, or reports that the service failed.
    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), WireError>;

    /// Returns `true` if nothing that could follow belongs to the reply, so that the end of the
    /// connection need not be awaited. Default: `false`.
    fn is_done(&self) -> bool {
        false
    }

    /// Returns the whole reply.
    ///
    /// # Errors
    ///
    /// [`WireError`] if the stream ended before the reply did: a cut stream is never taken for a
    /// short answer.
    fn finish(self) -> Result<ModelResponse, WireError>;
}

/// An error in reading what a service sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// The data does not have the expected form; the text says where and why.
    Invalid(String),
    /// The stream ended before the reply did.
    CutOff,
    /// The service reports a failure in the body or the stream: its type, and its message.
    Service {
        /// The service's own term for it, such as `overloaded_error`.
        kind: String,
        /// The message.
        message: String,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(what) => write!(f, "the reply is not valid: {what}"),
            Self::CutOff => f.write_str("the stream ended before the reply did"),
            Self::Service { kind, message } => write!(f, "the service reports `{kind}`: {message}"),
        }
    }
}

impl std::error::Error for WireError {}

impl From<serde_json::Error> for WireError {
    fn from(error: serde_json::Error) -> Self {
        Self::Invalid(error.to_string())
    }
}
