//! A request of a front end, whichever protocol it is in.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::fmt;

use serde_json::Value;
use toolbox::Content;
use toolbox::call::{ToolCall, ToolResult};
use toolbox::context::Answer;
use toolbox::model::{FoundMessage, History, Message};

use crate::offered::Offer;

/// The longest id of a thread or a run, in bytes.
const MAX_ID: usize = 256;

/// A reason why a request starts no run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// The body has more bytes than are taken.
    TooLarge {
        /// The bytes of the body.
        bytes: usize,
        /// The most that are taken.
        limit: usize,
    },
    /// The body is not what the protocol says.
    Malformed(String),
    /// The last message is not the user's, and neither a decision nor a result is given.
    NothingToDo,
    /// No run of this thread waits for the decisions or results that are given: it went on already,
    /// or was dropped.
    NotWaiting,
}

impl RequestError {
    /// Returns the HTTP status of the answer: 413, 400 or 409.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::TooLarge { .. } => 413,
            Self::Malformed(_) | Self::NothingToDo => 400,
            Self::NotWaiting => 409,
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes, limit } => {
                write!(f, "the body has {bytes} bytes, and at most {limit} are taken")
            }
            Self::Malformed(why) => write!(f, "the body cannot be read: {why}"),
            Self::NothingToDo => f.write_str("the last message is not the user's"),
            Self::NotWaiting => {
                f.write_str("no run of this thread waits for these decisions or results")
            }
        }
    }
}

impl Error for RequestError {}

/// A decision or an answer of the person at the front end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    Approved,
    Denied(String),
    Answered(Answer),
}

/// A request of a front end.
#[derive(Debug)]
pub(crate) struct WebRequest {
    pub(crate) thread: String,
    /// The id of the run; empty in a protocol without one.
    pub(crate) run: String,
    pub(crate) messages: Vec<FoundMessage>,
    /// The decisions and answers to pending calls and questions, by their ids.
    pub(crate) said: BTreeMap<String, Said>,
    /// The tools that the front end offers.
    pub(crate) offers: Vec<Offer>,
}

impl WebRequest {
    /// Takes the transcript apart: what was before, and the last message of the user.
    pub(crate) fn input(&mut self) -> Result<(History, Vec<Content>), RequestError> {
        let Some(FoundMessage::User(input)) = self.messages.pop() else {
            return Err(RequestError::NothingToDo);
        };
        if input.iter().all(Content::is_empty) {
            return Err(RequestError::NothingToDo);
        }
        let (history, _repairs) = History::repaired(std::mem::take(&mut self.messages));
        Ok((history, input))
    }

    /// Returns the results behind the last reply, by the ids of their calls.
    pub(crate) fn last_results(&self) -> BTreeMap<String, ToolResult> {
        let last = self.messages.iter().rev();
        let last = last.take_while(|message| !matches!(message, FoundMessage::Reply(_)));
        let results = last.filter_map(|message| match message {
            FoundMessage::Result { call_id, result } => Some((call_id.clone(), result.clone())),
            _ => None,
        });
        results.collect()
    }

    /// Returns `true` if the last message is the user's.
    pub(crate) fn has_input(&self) -> bool {
        matches!(self.messages.last(), Some(FoundMessage::User(_)))
    }

    /// Takes the messages of the user behind the last reply.
    pub(crate) fn late_inputs(&mut self) -> Vec<Vec<Content>> {
        let is_user = |message: &FoundMessage| matches!(message, FoundMessage::User(_));
        let late = self.messages.iter().rev().take_while(|message| is_user(message)).count();
        let late = self.messages.split_off(self.messages.len() - late);
        let contents = late.into_iter().filter_map(|message| match message {
            FoundMessage::User(content) => Some(content),
            _ => None,
        });
        contents.filter(|content| !content.iter().all(Content::is_empty)).collect()
    }
}

/// Returns the ids of the calls of a transcript.
pub(crate) fn call_ids(history: &History) -> HashSet<String> {
    let steps = history.messages().iter().filter_map(|message| match message {
        Message::Step(step) => Some(step),
        _ => None,
    });
    steps
        .flat_map(|step| step.reply().tool_calls())
        .map(|call: &ToolCall| call.id.clone())
        .collect()
}

pub(crate) fn malformed(why: impl fmt::Display) -> RequestError {
    RequestError::Malformed(why.to_string())
}

/// Returns a member that is text.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str, RequestError> {
    value[name].as_str().ok_or_else(|| malformed(format!("`{name}` is missing, or is no text")))
}

/// Returns the member that is an id: text of 1 to 256 bytes.
pub(crate) fn id(value: &Value, name: &str) -> Result<String, RequestError> {
    let id = text(value, name)?;
    if id.is_empty() || id.len() > MAX_ID {
        return Err(malformed(format!("`{name}` has {} bytes, not 1 to {MAX_ID}", id.len())));
    }
    Ok(id.to_owned())
}

/// Returns the file that a URL is or names. A `data:` URL is the file itself; nothing is fetched.
pub(crate) fn file(url: &str, mime_type: &str, name: &str) -> Result<Content, RequestError> {
    let Some((head, data)) = url.strip_prefix("data:").and_then(|rest| rest.split_once(',')) else {
        return Ok(Content::resource_link(url, name));
    };
    let mime_type =
        if mime_type.is_empty() { head.split(';').next().unwrap_or_default() } else { mime_type };
    if !head.ends_with(";base64") {
        return Err(malformed("a `data:` URL is not base64"));
    }
    encoded(data, mime_type, name)
}

/// Returns a file from its base64.
pub(crate) fn encoded(data: &str, mime_type: &str, name: &str) -> Result<Content, RequestError> {
    let content = match mime_type.split('/').next() {
        Some("image") => Content::image_base64(data, mime_type),
        Some("audio") => Content::audio_base64(data, mime_type),
        _ => Content::resource_base64(format!("file:///{name}"), mime_type, data),
    };
    content.map_err(malformed)
}
