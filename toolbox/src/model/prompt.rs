//! A request as JSON, in the order in which services cache it.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::history::{Message, Step};
use super::reply::Part;
use super::request::ModelRequest;
use crate::call::{Content, ToolResult};
use crate::dialect::Dialect;
use crate::sort::sorted_order;

/// Options that change the choice of the next token, and nothing that a service caches.
const SAMPLING: [&str; 12] = [
    "frequency_penalty",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "presence_penalty",
    "seed",
    "stop",
    "stop_sequences",
    "stream",
    "temperature",
    "top_k",
    "top_p",
];

/// Writes a request in the order in which services cache it: `tools`, `system`, `tool_choice`,
/// `parallel_tool_calls`, `options`, `messages`; then what is in no cache: `sampling`, the options
/// that choose the next token, and `search`, the tools that are found later.
///
/// Tools are written as Anthropic takes them. Of a result there is what a model gets: `call_id`,
/// `content` and `is_error`. [`PrefixChanged::at`](super::PrefixChanged) is an offset in this text.
impl Serialize for ModelRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (sampling, options) = split_options(&self.options);
        let len = 6 + usize::from(!sampling.is_empty()) + usize::from(self.search.is_some());
        let mut out = serializer.serialize_struct("ModelRequest", len)?;
        out.serialize_field("tools", &*self.tools.lowered(Dialect::Anthropic))?;
        out.serialize_field("system", &self.system)?;
        out.serialize_field("tool_choice", &self.tool_choice)?;
        out.serialize_field("parallel_tool_calls", &self.parallel_tool_calls)?;
        out.serialize_field("options", &options)?;
        out.serialize_field("messages", &SentMessages(self.history.messages()))?;
        if !sampling.is_empty() {
            out.serialize_field("sampling", &sampling)?;
        }
        if let Some(search) = &self.search {
            let deferred = search.deferred.lowered(Dialect::Anthropic);
            let search = SentSearch { tool: &search.tool, deferred: &*deferred };
            out.serialize_field("search", &search)?;
        }
        out.end()
    }
}

/// Returns `true` if the text of a request is that of an earlier one, or goes on behind it.
pub(super) fn extends(later: &ModelRequest, earlier: &ModelRequest) -> bool {
    let (own, before) = (later.history.messages(), earlier.history.messages());
    own.len() >= before.len()
        && same_tools(later, earlier)
        && later.system == earlier.system
        && later.tool_choice == earlier.tool_choice
        && later.parallel_tool_calls == earlier.parallel_tool_calls
        && same_options(&later.options, &earlier.options)
        && own.iter().zip(before).all(|(own, before)| same_message(own, before))
}

fn same_tools(later: &ModelRequest, earlier: &ModelRequest) -> bool {
    later.tools == earlier.tools
        || later.tools.lowered(Dialect::Anthropic).json()
            == earlier.tools.lowered(Dialect::Anthropic).json()
}

fn same_options(own: &Map<String, Value>, before: &Map<String, Value>) -> bool {
    own == before || split_options(own).1 == split_options(before).1
}

/// Returns `true` if a service gets the same for both.
fn same_message(own: &Message, before: &Message) -> bool {
    let text = |message| serde_json::to_string(&SentMessage::from(message)).ok();
    own.is_same(before) || text(own) == text(before)
}

type Options<'a> = Vec<(&'a String, &'a Value)>;

/// Returns the options of sampling, and the others.
fn split_options(options: &Map<String, Value>) -> (SortedOptions<'_>, SortedOptions<'_>) {
    let (sampling, others): (Options<'_>, Options<'_>) =
        options.iter().partition(|(name, _)| SAMPLING.contains(&name.as_str()));
    (SortedOptions::new(&sampling), SortedOptions::new(&others))
}

/// Options by name, so that the order in which they were set does not matter.
#[derive(PartialEq)]
struct SortedOptions<'a>(Options<'a>);

impl<'a> SortedOptions<'a> {
    fn new(options: &Options<'a>) -> Self {
        let order = sorted_order(options.len(), &|a, b| options[a].0.cmp(options[b].0));
        Self(order.into_iter().map(|at| options[at]).collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for SortedOptions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

#[derive(Serialize)]
struct SentSearch<'a, D: Serialize> {
    tool: &'a str,
    deferred: &'a D,
}

struct SentMessages<'a>(&'a [Message]);

impl Serialize for SentMessages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(SentMessage::from))
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum SentMessage<'a> {
    User {
        content: &'a [Content],
    },
    Assistant {
        parts: &'a [Part],
        #[serde(skip_serializing_if = "Vec::is_empty")]
        results: Vec<SentResult<'a>>,
    },
}

impl<'a> From<&'a Message> for SentMessage<'a> {
    fn from(message: &'a Message) -> Self {
        match message {
            Message::User(content) => Self::User { content },
            Message::Step(step) => Self::of_step(step),
        }
    }
}

impl<'a> SentMessage<'a> {
    fn of_step(step: &'a Step) -> Self {
        let results = step.results().iter().map(SentResult::from).collect();
        Self::Assistant { parts: &step.reply().parts, results }
    }
}

#[derive(Serialize)]
struct SentResult<'a> {
    call_id: &'a str,
    content: &'a [Content],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

impl<'a> From<&'a ToolResult> for SentResult<'a> {
    fn from(result: &'a ToolResult) -> Self {
        let (call_id, content) = (result.call_id(), result.content());
        Self { call_id, content, is_error: result.is_error() }
    }
}
