//! The common beginning of two requests, which services keep in a cache.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::prompt::extends;
use super::request::ModelRequest;
use crate::text::floor_boundary;

/// The change of a prompt before its end: a service that caches prompts by their beginning reads
/// the rest of it again, at full price.
///
/// ```
/// use toolbox::model::{History, ModelRequest, PrefixCause};
///
/// let first = ModelRequest::new(History::from("Hi")).with_system("Today is Monday.");
/// let second = first.clone().with_system("Today is Tuesday.");
/// let change = second.prefix_changed_since(&first).unwrap();
/// assert_eq!(change.because, PrefixCause::System);
///
/// let (first, second) = (serde_json::to_string(&first)?, serde_json::to_string(&second)?);
/// assert_eq!(first[..change.at], second[..change.at]);
/// assert!(first[change.at..].starts_with("Monday"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PrefixChanged {
    /// The bytes that both have in common, of the requests as JSON
    /// ([`ModelRequest`] serializes in the order in which services cache it).
    pub at: usize,
    /// The part of the request that changed; the first, where it is several.
    pub because: PrefixCause,
}

/// The part of a request whose change ends the common beginning.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PrefixCause {
    /// The tool of this name: it is new or gone, stands elsewhere, or its definition changed.
    Tool(String),
    /// The system prompt.
    System,
    /// The choice of tools, or an option. Options that only choose the next token, such as
    /// `temperature` and `max_tokens`, are in no cache and do not count.
    Settings,
    /// The message of this index, from zero: it changed, or was taken out.
    Message(usize),
}

impl ModelRequest {
    /// Returns where and why the text of an earlier request is no beginning of this one; `None` if
    /// it is, so that what a service has cached of it holds.
    ///
    /// Costs a comparison of pointers for each message that both histories share, and the
    /// serialization of both requests where they differ.
    #[must_use]
    pub fn prefix_changed_since(&self, earlier: &Self) -> Option<PrefixChanged> {
        if extends(self, earlier) {
            return None;
        }
        // A request always serializes: its keys are text.
        let value = |request| serde_json::to_value(request).unwrap_or_default();
        PrefixChanged::between(&value(earlier), &value(self))
    }
}

impl PrefixChanged {
    /// Compares two requests that are JSON.
    pub(crate) fn between(earlier: &Value, later: &Value) -> Option<Self> {
        let because = cause(earlier, later)?;
        let (earlier, later) = (earlier.to_string(), later.to_string());
        let same = earlier.bytes().zip(later.bytes()).take_while(|(own, other)| own == other);
        // Within a character, the text would be no text.
        let at = floor_boundary(&later, same.count());
        Some(Self { at, because })
    }
}

fn cause(earlier: &Value, later: &Value) -> Option<PrefixCause> {
    if let Some(index) = first_difference(earlier, later, "tools", false) {
        let tool = [later, earlier].into_iter().find_map(|request| request["tools"].get(index));
        let name = tool.and_then(|tool| tool["name"].as_str()).unwrap_or_default();
        return Some(PrefixCause::Tool(name.to_owned()));
    }
    if earlier["system"] != later["system"] {
        return Some(PrefixCause::System);
    }
    if ["tool_choice", "parallel_tool_calls", "options"]
        .into_iter()
        .any(|field| earlier[field] != later[field])
    {
        return Some(PrefixCause::Settings);
    }
    first_difference(earlier, later, "messages", true).map(PrefixCause::Message)
}

/// Returns the index of the first item that two lists do not have in common. A list that `grows`
/// may have more items later.
fn first_difference(earlier: &Value, later: &Value, list: &str, grows: bool) -> Option<usize> {
    let (earlier, later) = (items(earlier, list), items(later, list));
    let same = earlier.iter().zip(later).take_while(|(own, other)| own == other).count();
    let ends = same == earlier.len() && (grows || same == later.len());
    (!ends).then_some(same)
}

fn items<'a>(request: &'a Value, list: &str) -> &'a [Value] {
    request[list].as_array().map_or(&[], Vec::as_slice)
}

impl fmt::Display for PrefixChanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the prompt changed at byte {} ({})", self.at, self.because)
    }
}

impl fmt::Display for PrefixCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) => write!(f, "the tool `{name}`"),
            Self::System => f.write_str("the system prompt"),
            Self::Settings => f.write_str("the settings"),
            Self::Message(index) => write!(f, "message {index}"),
        }
    }
}
