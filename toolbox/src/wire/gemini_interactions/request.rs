//! Writes a request in the form of Gemini Interactions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::response::{CALL_KEYS, is_opaque, kind, output};
use super::state::Start;
use crate::call::{Content, ToolCall, ToolResult};
use crate::dialect::{DefinitionList, Dialect};
use crate::model::{Message, ModelRequest, Part, Reply, Step, ToolChoice, is_too_deep};
use crate::wire::gemini::blob;
use crate::wire::turns::{NOTHING_SAID, PartText, RESERVED, TranscriptTurn, is_blank, turns};

/// Options that are keys of the request itself; every other one belongs to `generation_config`.
const TOP_LEVEL: [&str; 10] = [
    "background",
    "cached_content",
    "environment",
    "labels",
    "response_format",
    "response_mime_type",
    "response_modalities",
    "safety_settings",
    "service_tier",
    "webhook_config",
];

pub(super) fn body(request: &ModelRequest, model: &str, stream: bool) -> String {
    let tools = request.tools.lowered(Dialect::GeminiInteractions);
    let start = Start::of(request);
    let options = || request.options.iter().filter(|(_, value)| !value.is_null());
    let body = Body {
        model: model.strip_prefix("models/").unwrap_or(model),
        system_instruction: request.system.as_deref().filter(|text| !text.trim().is_empty()),
        tools: (!request.tools.is_empty()).then(|| &*tools),
        generation_config: generation_config(request, &tools),
        rest: options()
            .filter(|(name, _)| TOP_LEVEL.contains(&name.as_str()))
            .map(|(name, value)| (name.as_str(), value))
            .collect(),
        store: request.options.get("store").unwrap_or(&Value::Bool(false)),
        stream,
        previous_interaction_id: start.previous,
        continuation_token: start.token,
        input: start.messages.map(|messages| rest(start.step, messages, &tools)),
    };
    serde_json::to_string(&body).unwrap_or_default()
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a DefinitionList>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    generation_config: Map<String, Value>,
    #[serde(flatten)]
    rest: BTreeMap<&'a str, &'a Value>,
    #[serde(skip_serializing_if = "Value::is_null")]
    store: &'a Value,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_interaction_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    continuation_token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Vec<StepOut<'a>>>,
}

fn generation_config(request: &ModelRequest, tools: &DefinitionList) -> Map<String, Value> {
    let mut config = match request.options.get("generation_config") {
        Some(Value::Object(config)) => config.clone(),
        _ => Map::new(),
    };
    for (name, value) in &request.options {
        let name = match name.as_str() {
            "generation_config" | "store" => continue,
            name if value.is_null() || TOP_LEVEL.contains(&name) || RESERVED.contains(&name) => {
                continue;
            }
            "max_tokens" => "max_output_tokens",
            "stop" => "stop_sequences",
            name => name,
        };
        let value = match value {
            Value::String(_) if name == "stop_sequences" => json!([value]),
            value => value.clone(),
        };
        config.insert(name.to_owned(), value);
    }
    if request.tools.is_empty() {
        config.remove("tool_choice");
    } else if let Some(choice) = tool_choice(&request.tool_choice, tools) {
        config.insert("tool_choice".to_owned(), choice);
    }
    config
}

/// Returns the choice in the service's form; `None` for the service's default.
fn tool_choice(choice: &ToolChoice, tools: &DefinitionList) -> Option<Value> {
    Some(match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("any"),
        ToolChoice::Tool(name) => {
            json!({"allowed_tools": {"mode": "any", "tools": [tools.sent_name(name)]}})
        }
    })
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum StepOut<'a> {
    Own(OwnStep<'a>),
    Echo(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum OwnStep<'a> {
    UserInput {
        content: Vec<ContentOut<'a>>,
    },
    ModelOutput {
        content: [ContentOut<'a>; 1],
    },
    FunctionCall {
        id: &'a str,
        name: Cow<'a, str>,
        arguments: &'a RawValue,
        #[serde(flatten)]
        more: BTreeMap<&'a str, &'a Value>,
    },
    FunctionResult {
        call_id: &'a str,
        name: Cow<'a, str>,
        result: ResultOut<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
pub(super) struct ContentOut<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<PartText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ResultOut<'a> {
    Json(&'a RawValue),
    Text(Cow<'a, str>),
    Contents(Vec<ContentOut<'a>>),
}

impl<'a> ContentOut<'a> {
    fn text(text: PartText<'a>) -> Self {
        Self { kind: "text", text: Some(text), mime_type: None, data: None }
    }

    /// Returns a part, or a text in place of one that the model can neither see nor hear.
    fn of(content: &'a Content) -> Self {
        let Some(blob) = blob(content) else { return Self::text(PartText::Of(content)) };
        let kind = match blob.mime_type.split('/').next() {
            Some("image") => "image",
            Some("audio") => "audio",
            Some("video") => "video",
            _ => "document",
        };
        Self { kind, text: None, mime_type: Some(blob.mime_type), data: Some(blob.data) }
    }
}

/// Returns the steps that follow the reply of a step: its results, and messages.
fn rest<'a>(
    step: Option<&'a Step>,
    messages: &'a [Message],
    tools: &DefinitionList,
) -> Vec<StepOut<'a>> {
    let mut steps: Vec<_> = step.iter().flat_map(|step| results(step, tools)).collect();
    if steps.is_empty() || !messages.is_empty() {
        steps.extend(input(messages, tools));
    }
    steps
}

/// Returns the steps of messages, the first of them the user's.
pub(super) fn input<'a>(messages: &'a [Message], tools: &DefinitionList) -> Vec<StepOut<'a>> {
    let mut steps = Vec::new();
    for turn in turns(messages, |step| written(step.reply())) {
        match turn {
            TranscriptTurn::User(content) => {
                let mut content: Vec<_> = content.into_iter().map(ContentOut::of).collect();
                if content.is_empty() {
                    content.push(ContentOut::text(NOTHING_SAID.into()));
                }
                steps.push(StepOut::Own(OwnStep::UserInput { content }));
            }
            TranscriptTurn::Model(parts) => {
                steps.extend(parts.into_iter().map(|part| model_step(part, tools)));
            }
            TranscriptTurn::Results(step) => steps.extend(results(step, tools)),
        }
    }
    steps
}

/// Returns the steps of a reply.
pub(super) fn reply_steps<'a>(reply: &'a Reply, tools: &DefinitionList) -> Vec<StepOut<'a>> {
    written(reply).into_iter().map(|part| model_step(part, tools)).collect()
}

/// Returns the parts of a reply that are sent.
fn written(reply: &Reply) -> Vec<&Part> {
    let parts = reply.parts.iter().filter(|part| match part {
        Part::Text { text, .. } => !text.trim().is_empty() || echoed_output(part).is_some(),
        Part::Call { .. } => true,
        Part::Reasoning { .. } => echo(part).is_some_and(|step| kind(step) == "thought"),
        Part::Other(_) => echo(part)
            .is_some_and(|step| is_opaque(step) && (is_whole(reply) || is_answered(reply, step))),
    });
    let kept: Vec<&Part> = parts.collect();
    // Reasoning that nothing follows says nothing.
    let is_bare = kept.iter().all(|part| matches!(part, Part::Reasoning { .. }));
    if is_bare { Vec::new() } else { kept }
}

/// Returns `true` if the reply was not cut off, so that a call by the service itself has its
/// result, in this reply or in the next one.
fn is_whole(reply: &Reply) -> bool {
    reply.finish.allows_calls()
}

/// Returns `true` for a step that is no call by the service itself, or one that has its result.
fn is_answered(reply: &Reply, step: &Map<String, Value>) -> bool {
    let id = step.get("id").and_then(Value::as_str);
    let answers = |part: &Part| echo(part).and_then(|own| own.get("call_id")?.as_str()) == id;
    !kind(step).ends_with("_call") || id.is_some() && reply.parts.iter().any(answers)
}

fn echo(part: &Part) -> Option<&Map<String, Value>> {
    part.echo(Dialect::GeminiInteractions)?.as_object()
}

/// Returns an output that holds more than its text, such as citations, unless the text was edited.
fn echoed_output(part: &Part) -> Option<&Value> {
    let Part::Text { text, .. } = part else { return None };
    let step = echo(part).filter(|step| kind(step) == "model_output")?;
    let (own, is_plain) = output(step);
    (!is_plain && own == *text).then(|| part.echo(Dialect::GeminiInteractions)).flatten()
}

fn model_step<'a>(part: &'a Part, tools: &DefinitionList) -> StepOut<'a> {
    match part {
        Part::Text { text, .. } => match echoed_output(part) {
            Some(step) => StepOut::Echo(step),
            None => {
                let content = [ContentOut::text(text.as_str().into())];
                StepOut::Own(OwnStep::ModelOutput { content })
            }
        },
        Part::Call { call, .. } => StepOut::Own(OwnStep::FunctionCall {
            id: &call.id,
            name: tools.sent_name(&call.name),
            // The arguments in a history are always objects.
            arguments: serde_json::from_str(call.arguments.as_str()).unwrap_or(RawValue::NULL),
            more: echo(part)
                .into_iter()
                .flatten()
                .filter(|(key, value)| !value.is_null() && !CALL_KEYS.contains(&key.as_str()))
                .map(|(key, value)| (key.as_str(), value))
                .collect(),
        }),
        Part::Reasoning { .. } | Part::Other(_) => {
            StepOut::Echo(part.echo(Dialect::GeminiInteractions).unwrap_or(&Value::Null))
        }
    }
}

fn results<'a>(step: &'a Step, tools: &DefinitionList) -> Vec<StepOut<'a>> {
    let result = |(call, result): (&'a ToolCall, &'a ToolResult)| {
        StepOut::Own(OwnStep::FunctionResult {
            call_id: &call.id,
            name: tools.sent_name(&call.name),
            result: output_of(result),
            is_error: result.is_error(),
        })
    };
    step.calls().map(result).collect()
}

/// Returns the output of a result for the model.
fn output_of(result: &ToolResult) -> ResultOut<'_> {
    // A list would be read as contents, and a structure deeper than services read would fail the
    // whole request.
    let structure = result.structured_text().filter(|text| {
        !result.is_error() && text.trim_start().starts_with('{') && !is_too_deep(text)
    });
    if let Some(Ok(json)) = structure.map(serde_json::from_str::<&RawValue>) {
        return ResultOut::Json(json);
    }
    let mut parts = result.content().iter().filter(|part| !is_blank(part));
    if parts.clone().any(|part| blob(part).is_some()) {
        return ResultOut::Contents(parts.map(ContentOut::of).collect());
    }
    if parts.all(|part| part.to_text().is_some()) {
        return ResultOut::Text(result.text());
    }
    let texts = result.content().iter().filter(|part| !is_blank(part));
    let texts: Vec<String> = texts.map(|part| PartText::Of(part).to_string()).collect();
    ResultOut::Text(texts.join("\n").into())
}
