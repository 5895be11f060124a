//! Stored transcripts: JSON that deserializes to the same history.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::history::{FoundMessage, History, Message, Unanswered};
use super::reply::{Echo, Finish, Part, Reply};
use crate::call::{Content, StoredResult, StoredResultRef, ToolCall, ToolResult, line_or_none};
use crate::dialect::Dialect;

/// A part, field by field. (Not an enum with a tag: that would buffer its fields, and arguments are
/// read as they are.)
#[derive(Deserialize)]
struct StoredPart {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: crate::call::Arguments,
    #[serde(default, deserialize_with = "line_or_none")]
    line: Option<u32>,
    #[serde(default)]
    echo: Option<Echo>,
}

#[derive(Default, Serialize)]
struct StoredPartOut<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(flatten)]
    call: Option<&'a ToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    echo: Option<&'a Echo>,
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let out = match self {
            Self::Text { text, echo } => {
                StoredPartOut { kind: "text", text: Some(text), echo: echo.as_ref(), call: None }
            }
            Self::Call { call, echo } => {
                StoredPartOut { kind: "call", call: Some(call), echo: echo.as_ref(), text: None }
            }
            Self::Reasoning { text, echo } => StoredPartOut {
                kind: "reasoning",
                text: Some(text),
                echo: echo.as_ref(),
                call: None,
            },
            Self::Other(echo) => {
                StoredPartOut { kind: "other", echo: Some(echo), ..StoredPartOut::default() }
            }
        };
        out.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let part = StoredPart::deserialize(deserializer)?;
        Ok(match (part.kind.as_str(), part.echo) {
            ("text", echo) => Self::Text { text: part.text, echo },
            ("call", echo) => {
                let call = ToolCall::new(part.id, part.name, part.arguments);
                Self::Call { call: call.at_line(part.line), echo }
            }
            ("reasoning", echo) => Self::Reasoning { text: part.text, echo },
            ("other", Some(echo)) => Self::Other(echo),
            (kind, _) => return Err(D::Error::custom(format!("no part is of type {kind:?}"))),
        })
    }
}

impl Dialect {
    fn stored_name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai_chat",
            Self::OpenAiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::GeminiInteractions => "gemini_interactions",
            Self::Mcp => "mcp",
        }
    }
}

impl Serialize for Dialect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.stored_name())
    }
}

impl<'de> Deserialize<'de> for Dialect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.stored_name() == name)
            .ok_or_else(|| D::Error::custom(format!("no dialect is named {name:?}")))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum StoredMessageOut<'a> {
    User {
        role: &'a str,
        content: &'a [Content],
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        pinned: bool,
    },
    Step {
        role: &'a str,
        parts: &'a [Part],
        finish: &'a Finish,
        results: Vec<StoredResultRef<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        pinned: bool,
    },
}

#[derive(Deserialize)]
struct StoredMessage {
    role: String,
    #[serde(default)]
    content: Vec<Content>,
    #[serde(default)]
    parts: Vec<Part>,
    finish: Option<Finish>,
    #[serde(default)]
    results: Vec<StoredResult>,
    #[serde(default)]
    pinned: bool,
}

/// Writes results that are not part of a transcript yet.
pub(crate) fn serialize_results<S: Serializer>(
    results: &[ToolResult],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(results.iter().map(StoredResultRef::from))
}

/// Reads what [`serialize_results`] wrote.
pub(crate) fn deserialize_results<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<ToolResult>, D::Error> {
    let stored = Vec::<StoredResult>::deserialize(deserializer)?;
    Ok(stored.into_iter().map(ToolResult::from).collect())
}

impl Serialize for History {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.messages().iter().enumerate().map(|(at, message)| {
            let pinned = self.is_pinned(at);
            match message {
                Message::User(content) => StoredMessageOut::User { role: "user", content, pinned },
                Message::Step(step) => StoredMessageOut::Step {
                    role: "assistant",
                    parts: &step.reply().parts,
                    finish: &step.reply().finish,
                    results: step.results().iter().map(StoredResultRef::from).collect(),
                    pinned,
                },
            }
        }))
    }
}

/// Reads a stored transcript. Damage is repaired as by [`History::repaired`].
impl<'de> Deserialize<'de> for History {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Vec::<StoredMessage>::deserialize(deserializer)?;
        let mut found = Vec::with_capacity(stored.len());
        for message in stored {
            match message.role.as_str() {
                "user" => found.push((FoundMessage::User(message.content), message.pinned)),
                "assistant" => {
                    let mut reply = Reply::new(message.parts);
                    if let Some(finish) = message.finish {
                        reply.finish = finish;
                    }
                    found.push((FoundMessage::Reply(reply), message.pinned));
                    found.extend(message.results.into_iter().map(|stored| {
                        let call_id = stored.call_id.clone();
                        (FoundMessage::Result { call_id, result: stored.into() }, false)
                    }));
                }
                role => return Err(D::Error::custom(format!("no message has the role {role:?}"))),
            }
        }
        Ok(History::mended(found).0)
    }
}

#[derive(Serialize, Deserialize)]
struct StoredUnanswered<H, R> {
    history: H,
    reply: R,
}

impl Serialize for Unanswered {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        StoredUnanswered { history: self.before(), reply: self.reply() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Unanswered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredUnanswered::<History, Reply>::deserialize(deserializer)?;
        match stored.history.reply(stored.reply) {
            super::Replied::Calls(open) => Ok(open),
            _ => Err(D::Error::custom("the reply makes no calls that could be answered")),
        }
    }
}
