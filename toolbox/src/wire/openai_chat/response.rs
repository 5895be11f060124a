//! Reads replies and transcripts.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::echoes::{CallEchoes, JoinedEchoes, MessageEchoes};
use crate::call::{Arguments, ToolCall};
use crate::dialect::Dialect;
use crate::model::{Echo, Finish, ModelResponse, Part, Reply};
use crate::wire::WireError;
use crate::wire::ended::finish_of;
use crate::wire::lenient;
use crate::wire::openai::custom::custom_call;
use crate::wire::openai::{ended, invalid, read, reported, take_text, usage};

/// The envelope of a whole reply or a chunk of one, around the choices.
#[derive(Deserialize)]
pub(super) struct ChatEnvelope<C> {
    #[serde(default, deserialize_with = "lenient::id")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "lenient::id")]
    pub(super) model: Option<String>,
    #[serde(default = "Vec::new", deserialize_with = "nullable")]
    #[serde(bound(deserialize = "C: Deserialize<'de>"))]
    pub(super) choices: Vec<C>,
    pub(super) usage: Option<Value>,
    error: Option<Value>,
    #[serde(default, deserialize_with = "lenient::text")]
    object: Option<String>,
    message: Option<Value>,
}

impl<C> ChatEnvelope<C> {
    /// Returns the failure that the service reports in place of a reply, if it does.
    pub(super) fn failure(&self) -> Option<WireError> {
        let failure = reported(self.error.as_ref());
        if failure.is_some() || self.object.as_deref() != Some("error") {
            return failure;
        }
        reported(self.message.as_ref()).or_else(|| Some(invalid("an error without a message")))
    }
}

#[derive(Deserialize)]
struct WholeChoice {
    message: Option<ChatMessage>,
    #[serde(default, deserialize_with = "lenient::text")]
    finish_reason: Option<String>,
    error: Option<Value>,
}

/// A message of an assistant, or in a transcript, of any role.
#[derive(Default, Deserialize)]
pub(super) struct ChatMessage {
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) content: Value,
    #[serde(default, deserialize_with = "lenient::text")]
    refusal: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Value,
    #[serde(default, deserialize_with = "nullable")]
    tool_calls: Vec<CallIn>,
    function_call: Option<FunctionIn>,
    #[serde(flatten)]
    echoes: MessageEchoes,
    #[serde(default, deserialize_with = "lenient::id")]
    pub(super) tool_call_id: Option<String>,
}

#[derive(Deserialize)]
struct CallIn {
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    function: Option<FunctionIn>,
    custom: Option<Custom>,
    #[serde(flatten)]
    echoes: CallEchoes,
}

#[derive(Deserialize)]
struct FunctionIn {
    name: Option<String>,
    #[serde(default, deserialize_with = "arguments")]
    arguments: Arguments,
}

/// A call of a tool that takes free text, or a piece of one.
#[derive(Deserialize)]
pub(super) struct Custom {
    pub(super) name: Option<String>,
    pub(super) input: Option<String>,
}

/// Reads null as the default: many services write it where a key could be left out.
pub(super) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads arguments: JSON text in a string, or the object itself, which some services send.
pub(super) fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arguments, D::Error> {
    let arguments = Arguments::deserialize(deserializer)?;
    Ok(if arguments.as_str() == "null" { Arguments::default() } else { arguments })
}

/// A call, and the fields that only this format knows of it.
pub(super) type EchoedCall = (ToolCall, Option<Map<String, Value>>);

/// The type of a call whose tool takes a text in place of JSON.
pub(super) const CUSTOM: &str = "custom";

/// Returns such a call, marked as one.
pub(super) fn marked_custom(call: ToolCall) -> EchoedCall {
    (call, Some(Map::from_iter([("type".to_owned(), CUSTOM.into())])))
}

/// The parts of a reply, collected from one body or from chunks.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) reasoning: String,
    /// The field of the reasoning that services want back, empty or not.
    pub(super) wanted_back: Option<String>,
    /// `true` if reasoning came as a text under `reasoning`, which goes back under that name.
    pub(super) is_plain_reasoning: bool,
    pub(super) echoes: JoinedEchoes,
    pub(super) content: String,
    pub(super) refusal: String,
    pub(super) calls: Vec<EchoedCall>,
    pub(super) finish: Option<String>,
}

impl Gathered {
    pub(super) fn into_reply(self) -> Result<Reply, WireError> {
        let mut parts = Vec::with_capacity(self.calls.len() + 2);
        let mut fields = self.echoes.into_fields();
        if let Some(wanted) = self.wanted_back {
            fields.insert("reasoning_content".to_owned(), wanted.into());
        } else if self.is_plain_reasoning && !fields.contains_key("reasoning_details") {
            fields.insert("reasoning".to_owned(), self.reasoning.as_str().into());
        }
        let mut echo =
            (!fields.is_empty()).then(|| Echo::new(Dialect::OpenAiChat, Value::Object(fields)));
        if !self.reasoning.is_empty() {
            parts.push(Part::Reasoning { text: self.reasoning, echo: echo.take() });
        }
        let refused = !self.refusal.is_empty();
        let text = self.content + &self.refusal;
        if !text.is_empty() {
            parts.push(Part::text(text));
        }
        let has_calls = !self.calls.is_empty();
        parts.extend(self.calls.into_iter().map(|(call, echo)| {
            let echo = echo.map(|fields| Echo::new(Dialect::OpenAiChat, Value::Object(fields)));
            Part::Call { call, echo }
        }));
        // Beside nothing, there is nothing that it goes back with.
        let has_more = parts.iter().any(|part| !matches!(part, Part::Reasoning { .. }));
        parts.extend(echo.filter(|_| has_more).map(Part::Other));
        let finish = match self.finish {
            _ if refused => Finish::Refusal,
            None => ended(has_calls),
            Some(word) => match word.as_str() {
                "error" => {
                    let message = "the reply ended with an error that is not described".to_owned();
                    return Err(WireError::Service { kind: word, message });
                }
                word => finish_of(word, has_calls),
            },
        };
        Ok(Reply::new(parts).with_finish(finish))
    }
}

pub(super) fn response(body: &str) -> Result<ModelResponse, WireError> {
    let mut response: ChatEnvelope<WholeChoice> = read(body)?;
    if let Some(error) = response.failure() {
        return Err(error);
    }
    if response.choices.is_empty() {
        return Err(invalid("`choices` is empty"));
    }
    let choice = response.choices.swap_remove(0);
    if let Some(error) = reported(choice.error.as_ref()) {
        return Err(error);
    }
    let message = choice.message.ok_or_else(|| invalid("the choice has no `message`"))?;
    let mut gathered = message.gather()?;
    gathered.finish = choice.finish_reason;
    Ok(ModelResponse {
        reply: gathered.into_reply()?,
        usage: usage(response.usage.as_ref()),
        model: response.model,
        id: response.id,
    })
}

/// Returns `true` for a text that says something.
pub(super) fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// Returns the text of a model's reasoning: a string, or blocks with text in them.
pub(super) fn shown_reasoning(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Array(blocks) => blocks
            .into_iter()
            .map(|mut block| match block {
                Value::String(text) => text,
                _ => take_text(&mut block, "text").unwrap_or_default(),
            })
            .collect(),
        _ => String::new(),
    }
}

impl ChatMessage {
    pub(super) fn gather(self) -> Result<Gathered, WireError> {
        let is_plain_reasoning = is_text(&self.reasoning);
        let mut gathered = Gathered {
            is_plain_reasoning,
            reasoning: match self.reasoning_content.clone().filter(|text| !text.is_empty()) {
                Some(text) => text,
                None => shown_reasoning(self.reasoning),
            },
            wanted_back: self.reasoning_content,
            echoes: JoinedEchoes::of(self.echoes),
            ..Gathered::default()
        };
        gathered.add_content(self.content)?;
        gathered.refusal.push_str(&self.refusal.unwrap_or_default());
        for call in self.tool_calls {
            gathered.calls.push(call.read()?);
        }
        let older = self.function_call.map(|function| function.read(String::new()));
        match older.filter(|call| !(call.name.is_empty() && call.arguments.as_str().is_empty())) {
            None => {}
            Some(older) if gathered.calls.is_empty() => gathered.calls.push((older, None)),
            // Some services write their only call in both forms.
            Some(older) => match &gathered.calls[..] {
                [(call, _)] if call.name == older.name && call.arguments == older.arguments => {}
                _ => return Err(invalid("a reply has both `tool_calls` and `function_call`")),
            },
        }
        Ok(gathered)
    }
}

impl Gathered {
    /// Adds content: nothing, a text, or a list of parts.
    pub(super) fn add_content(&mut self, content: Value) -> Result<(), WireError> {
        match content {
            Value::Null => {}
            Value::String(text) if self.content.is_empty() => self.content = text,
            Value::String(text) => self.content.push_str(&text),
            Value::Array(parts) => {
                for mut part in parts {
                    if let Some(text) = take_text(&mut part, "text") {
                        self.content.push_str(&text);
                    } else if let Some(text) = take_text(&mut part, "refusal") {
                        self.refusal.push_str(&text);
                    } else if let Some(thinking) = part.get_mut("thinking").map(Value::take) {
                        self.reasoning.push_str(&shown_reasoning(thinking));
                    }
                }
            }
            _ => return Err(invalid("`content` is neither text nor a list of parts")),
        }
        Ok(())
    }
}

impl CallIn {
    fn read(self) -> Result<EchoedCall, WireError> {
        let id = self.id.unwrap_or_default();
        match (self.function, self.custom) {
            (Some(function), _) => Ok((function.read(id), self.echoes.into_fields())),
            (None, Some(Custom { name, input })) => {
                let (name, input) = (name.unwrap_or_default(), input.unwrap_or_default());
                Ok(marked_custom(custom_call(id, name, &input)))
            }
            (None, None) => Err(invalid("a tool call has no `function`")),
        }
    }
}

impl FunctionIn {
    fn read(self, id: String) -> ToolCall {
        ToolCall::new(id, self.name.unwrap_or_default(), self.arguments)
    }
}
