//! Writes a request, from borrowed data straight into the text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde_json::{Value, json};

use super::echoes;
use super::response::CUSTOM;
use crate::call::{Content, ToolCall};
use crate::dialect::DefinitionList;
use crate::dialect::Dialect;
use crate::model::{Message, ModelRequest, Part, Reply, Step, ToolChoice};
use crate::wire::openai::custom::custom_input;
use crate::wire::openai::{AsDisplay, DataUrl, ExtraOptions, MessagePart, ResultText};

pub(super) fn write(request: &ModelRequest, model: &str, stream: bool) -> String {
    // A document of text keys and plain values always serializes.
    serde_json::to_string(&Body {
        request,
        tools: &request.tools.lowered(Dialect::OpenAiChat),
        model,
        stream,
    })
    .unwrap_or_default()
}

struct Body<'a> {
    request: &'a ModelRequest,
    tools: &'a DefinitionList,
    model: &'a str,
    stream: bool,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.request;
        let options = ExtraOptions(&request.options);
        let has_tools = !request.tools.is_empty();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", self.model)?;
        map.serialize_entry("messages", &Messages { request, tools: self.tools })?;
        if has_tools {
            map.serialize_entry("tools", self.tools)?;
            let choice = tool_choice(&request.tool_choice, self.tools);
            options.call_entries(&mut map, choice, request.parallel_tool_calls)?;
        }
        if self.stream {
            map.serialize_entry("stream", &true)?;
            options.default_entry(&mut map, "stream_options", &json!({"include_usage": true}))?;
        }
        options.write(&mut map, |key| match key {
            "model" | "messages" | "tools" | "stream" => true,
            // The service refuses them without the tools they refer to.
            "tool_choice" | "parallel_tool_calls" => !has_tools,
            "stream_options" => !self.stream,
            _ => false,
        })?;
        map.end()
    }
}

/// Returns the choice in the service's form; `None` for the service's default.
fn tool_choice(choice: &ToolChoice, tools: &DefinitionList) -> Option<Value> {
    Some(match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Tool(name) => {
            json!({"type": "function", "function": {"name": tools.sent_name(name)}})
        }
    })
}

struct Messages<'a> {
    request: &'a ModelRequest,
    tools: &'a DefinitionList,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        if let Some(system) = self.request.system.as_deref().filter(|text| !text.trim().is_empty())
        {
            seq.serialize_element(&SimpleMessage { role: "system", content: system })?;
        }
        for message in self.request.history.messages() {
            match message {
                Message::User(content) => {
                    let content = UserParts::of(content);
                    if !content.0.is_empty() {
                        seq.serialize_element(&SimpleMessage { role: "user", content })?;
                    }
                }
                Message::Step(step) => write_step(&mut seq, step, self.tools)?,
            }
        }
        seq.end()
    }
}

fn write_step<S: SerializeSeq>(
    seq: &mut S,
    step: &Step,
    tools: &DefinitionList,
) -> Result<(), S::Error> {
    if let Some(assistant) = AssistantMessage::of(step.reply(), tools) {
        seq.serialize_element(&assistant)?;
    }
    for (call, result) in step.calls() {
        let content = ResultText(result);
        seq.serialize_element(&ToolMessage { role: "tool", tool_call_id: &call.id, content })?;
    }
    // Not between the results, which must follow the calls without a gap.
    let attachments = UserParts::attached(step, tools);
    if !attachments.0.is_empty() {
        seq.serialize_element(&SimpleMessage { role: "user", content: attachments })?;
    }
    Ok(())
}

#[derive(Serialize)]
struct SimpleMessage<C> {
    role: &'static str,
    content: C,
}

#[derive(Serialize)]
struct ToolMessage<'a> {
    role: &'static str,
    tool_call_id: &'a str,
    content: ResultText<'a>,
}

#[derive(Serialize)]
struct AssistantMessage<'a> {
    role: &'static str,
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a Value>,
    /// The data that goes back as it came.
    #[serde(flatten)]
    echoes: BTreeMap<&'static str, &'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallOut<'a>>,
}

#[derive(Serialize)]
struct CallOut<'a> {
    id: &'a str,
    #[serde(flatten)]
    called: CalledOut<'a>,
    /// The data that goes back as it came.
    #[serde(flatten)]
    echoes: BTreeMap<&'static str, &'a Value>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CalledOut<'a> {
    Function { function: FunctionOut<'a> },
    Custom { custom: CustomOut<'a> },
}

#[derive(Serialize)]
struct FunctionOut<'a> {
    name: Cow<'a, str>,
    arguments: &'a str,
}

#[derive(Serialize)]
struct CustomOut<'a> {
    name: Cow<'a, str>,
    input: String,
}

impl<'a> CalledOut<'a> {
    fn of(call: &'a ToolCall, echo: Option<&Value>, tools: &DefinitionList) -> Self {
        let name = tools.sent_name(&call.name);
        match custom_input(call, echo, CUSTOM) {
            Some(input) => Self::Custom { custom: CustomOut { name, input } },
            None => {
                let arguments = call.arguments.as_str();
                Self::Function { function: FunctionOut { name, arguments } }
            }
        }
    }
}

impl<'a> AssistantMessage<'a> {
    /// Returns the message of a reply, unless it would be empty.
    fn of(reply: &'a Reply, tools: &DefinitionList) -> Option<Self> {
        let content = Some(reply.content()).filter(|text| !text.trim().is_empty());
        let (mut reasoning_content, mut reasoning) = (None, None);
        let mut echoes = BTreeMap::new();
        let mut tool_calls = Vec::new();
        for part in &reply.parts {
            let echo = part.echo(Dialect::OpenAiChat);
            match part {
                Part::Call { call, .. } => tool_calls.push(CallOut {
                    id: &call.id,
                    called: CalledOut::of(call, echo, tools),
                    echoes: fields_of(echo, &echoes::OF_CALL),
                }),
                Part::Reasoning { .. } | Part::Other(_) => {
                    let field = |name: &str| echo.and_then(|echo| echo.get(name));
                    reasoning_content = field("reasoning_content").or(reasoning_content);
                    reasoning = field("reasoning").or(reasoning);
                    echoes.extend(fields_of(echo, &echoes::OF_MESSAGE));
                }
                Part::Text { .. } => {}
            }
        }
        if tool_calls.is_empty() {
            // The services want the reasoning of a step with calls, and some refuse that of an
            // answer.
            (reasoning_content, reasoning) = (None, None);
            content.as_ref()?;
        }
        Some(Self { role: "assistant", content, reasoning_content, reasoning, echoes, tool_calls })
    }
}

/// Returns the fields of an echo that go back.
fn fields_of<'a>(
    echo: Option<&'a Value>,
    names: &[&'static str],
) -> BTreeMap<&'static str, &'a Value> {
    let fields = names.iter().filter_map(|name| Some((*name, echo?.get(*name)?)));
    fields.collect()
}

/// The parts of a message of the user; one text is written as a string.
struct UserParts<'a>(Vec<UserPart<'a>>);

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum UserPart<'a> {
    Text {
        text: AsDisplay<MessagePart<'a>>,
    },
    #[serde(rename = "text")]
    Label {
        text: String,
    },
    ImageUrl {
        image_url: ImageUrl<'a>,
    },
    InputAudio {
        input_audio: InputAudio<'a>,
    },
    File {
        file: FileOut<'a>,
    },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: AsDisplay<DataUrl<'a>>,
}

#[derive(Serialize)]
struct InputAudio<'a> {
    data: &'a str,
    format: &'static str,
}

#[derive(Serialize)]
struct FileOut<'a> {
    filename: &'a str,
    file_data: AsDisplay<DataUrl<'a>>,
}

impl<'a> UserPart<'a> {
    fn of(piece: MessagePart<'a>) -> Self {
        match piece {
            MessagePart::Image(bytes) => {
                Self::ImageUrl { image_url: ImageUrl { url: bytes.url() } }
            }
            MessagePart::Sound { format, bytes } => {
                Self::InputAudio { input_audio: InputAudio { data: bytes.data, format } }
            }
            MessagePart::File { name, bytes } => {
                Self::File { file: FileOut { filename: name, file_data: bytes.url() } }
            }
            text => Self::Text { text: AsDisplay(text) },
        }
    }
}

impl<'a> UserParts<'a> {
    fn of(content: &'a [Content]) -> Self {
        let pieces = content.iter().map(MessagePart::of).filter(|piece| !piece.is_blank());
        Self(pieces.map(UserPart::of).collect())
    }

    /// Returns the parts of a step's results that are no text, each under the name of its call.
    fn attached(step: &'a Step, tools: &DefinitionList) -> Self {
        let mut parts = Vec::new();
        for (call, result) in step.calls() {
            let attachments =
                result.content().iter().map(MessagePart::of).filter(MessagePart::is_attachment);
            let before = parts.len();
            parts.extend(attachments.map(UserPart::of));
            if parts.len() > before {
                let name = tools.sent_name(&call.name);
                let text = format!("From the result of `{name}` (call {}):", call.id);
                parts.insert(before, UserPart::Label { text });
            }
        }
        Self(parts)
    }
}

impl Serialize for UserParts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [UserPart::Text { text }] => text.serialize(serializer),
            parts => parts.serialize(serializer),
        }
    }
}
