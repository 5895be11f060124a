//! Writes a request in the form of Gemini's `generateContent`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::response::SKIPPED_SIGNATURE;
use crate::call::{Content, ToolResult};
use crate::dialect::{DefinitionList, Dialect};
use crate::model::{ModelRequest, Part, Step, ToolChoice, is_too_deep};
use crate::wire::turns::{
    NOTHING_SAID, PartText, RESERVED, TranscriptTurn, bytes, is_blank, turns,
};

/// Options that are keys of the request itself; every other one belongs to `generationConfig`.
const TOP_LEVEL: [&str; 4] = ["safetySettings", "cachedContent", "labels", "serviceTier"];

pub(super) fn body(request: &ModelRequest, model: &str) -> String {
    let tools = request.tools.lowered(Dialect::Gemini);
    let system = request.system.as_deref().filter(|text| !text.trim().is_empty());
    let body = Body {
        system_instruction: system
            .map(|text| ContentOut { role: None, parts: vec![GeminiPartOut::text(text.into())] }),
        contents: contents(request, &tools, generation(model)),
        tools: (!request.tools.is_empty()).then(|| &*tools),
        tool_config: tool_config(request, &tools),
        generation_config: generation_config(&request.options),
        rest: request
            .options
            .iter()
            .filter(|(name, value)| TOP_LEVEL.contains(&name.as_str()) && !value.is_null())
            .map(|(name, value)| (name.as_str(), value))
            .collect(),
    };
    serde_json::to_string(&body).unwrap_or_default()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<ContentOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a DefinitionList>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    tool_config: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    generation_config: Map<String, Value>,
    #[serde(flatten)]
    rest: BTreeMap<&'a str, &'a Value>,
    contents: Vec<ContentOut<'a>>,
}

fn tool_config(request: &ModelRequest, tools: &DefinitionList) -> Map<String, Value> {
    let mut config = match request.options.get("toolConfig") {
        Some(Value::Object(config)) => config.clone(),
        _ => Map::new(),
    };
    if request.tools.is_empty() {
        config.remove("functionCallingConfig");
        return config;
    }
    let calling = match &request.tool_choice {
        ToolChoice::Auto => return config,
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Tool(name) => json!({
            "mode": "ANY",
            "allowedFunctionNames": [tools.sent_name(name)],
        }),
    };
    config.insert("functionCallingConfig".to_owned(), calling);
    config
}

fn generation_config(options: &Map<String, Value>) -> Map<String, Value> {
    let mut config = match options.get("generationConfig") {
        Some(Value::Object(config)) => config.clone(),
        _ => Map::new(),
    };
    for (name, value) in options {
        let name = match name.as_str() {
            "generationConfig" | "toolConfig" => continue,
            name if value.is_null() || TOP_LEVEL.contains(&name) || RESERVED.contains(&name) => {
                continue;
            }
            "max_tokens" => "maxOutputTokens",
            "top_p" => "topP",
            "top_k" => "topK",
            "stop" => "stopSequences",
            name => name,
        };
        let value = match value {
            Value::String(_) if name == "stopSequences" => json!([value]),
            value => value.clone(),
        };
        config.insert(name.to_owned(), value);
    }
    config
}

/// Returns the generation in a model's name, such as 3 of `gemini-3-pro-preview`.
fn generation(model: &str) -> Option<u32> {
    let (_, rest) = model.rsplit_once("gemini-")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[derive(Serialize)]
struct ContentOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<GeminiPartOut<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum GeminiPartOut<'a> {
    Own(Box<Own<'a>>),
    Echo(&'a Value),
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Own<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<PartText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<BlobOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCallOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponseOut<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

impl<'a> GeminiPartOut<'a> {
    fn text(text: PartText<'a>) -> Self {
        Self::Own(Box::new(Own { text: Some(text), ..Own::default() }))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::wire) struct BlobOut<'a> {
    pub(in crate::wire) mime_type: &'a str,
    pub(in crate::wire) data: &'a str,
}

#[derive(Serialize)]
struct FunctionCallOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: Cow<'a, str>,
    args: &'a RawValue,
}

#[derive(Serialize)]
struct FunctionResponseOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: Cow<'a, str>,
    response: FunctionResultOut<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<MediaPart<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MediaPart<'a> {
    inline_data: BlobOut<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum FunctionResultOut<'a> {
    Output(Output<'a>),
    Error(Output<'a>),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Json(&'a RawValue),
    Text(Cow<'a, str>),
}

fn contents<'a>(
    request: &'a ModelRequest,
    tools: &DefinitionList,
    generation: Option<u32>,
) -> Vec<ContentOut<'a>> {
    // A name without a generation is taken for a current one.
    let third = generation.is_none_or(|generation| generation >= 3);
    let mut contents = Vec::new();
    for turn in turns(request.history.messages(), written) {
        match turn {
            TranscriptTurn::User(content) => {
                let mut parts: Vec<_> = content.into_iter().map(shown).collect();
                if parts.is_empty() {
                    parts.push(GeminiPartOut::text(NOTHING_SAID.into()));
                }
                contents.push(ContentOut { role: Some("user"), parts });
            }
            TranscriptTurn::Model(parts) => {
                contents
                    .push(ContentOut { role: Some("model"), parts: model(&parts, tools, third) });
            }
            TranscriptTurn::Results(step) => results(step, tools, third, &mut contents),
        }
    }
    contents
}

/// Returns the parts of a step that are sent.
fn written(step: &Step) -> Vec<&Part> {
    let parts = step.reply().parts.iter();
    let kept: Vec<&Part> = parts
        .filter(|part| match part {
            Part::Text { text, .. } => !text.trim().is_empty() || signature(part).is_some(),
            Part::Call { .. } => true,
            Part::Reasoning { .. } => signature(part).is_some(),
            Part::Other(_) => part.echo(Dialect::Gemini).is_some_and(|echo| {
                // Kinds with parts of their own are written from those.
                let taken = ["text", "functionCall", "functionResponse"];
                let about = ["thought", "thoughtSignature"];
                echo.as_object().is_some_and(|part| {
                    part.keys().any(|key| !about.contains(&key.as_str()))
                        && taken.iter().all(|key| !part.contains_key(*key))
                })
            }),
        })
        .collect();
    // Reasoning that nothing follows is refused.
    let is_bare = kept.iter().all(|part| matches!(part, Part::Reasoning { .. }));
    if is_bare { Vec::new() } else { kept }
}

fn signature(part: &Part) -> Option<&str> {
    let signature = part.echo(Dialect::Gemini)?.get("thoughtSignature")?.as_str()?;
    (!signature.is_empty()).then_some(signature)
}

/// Returns `true` if the ids of a step's calls are sent: when the model gave them all. They are
/// sent on both sides or on none.
fn sends_ids<'a>(parts: impl IntoIterator<Item = &'a Part>) -> bool {
    parts.into_iter().filter(|part| matches!(part, Part::Call { .. })).all(|part| {
        part.echo(Dialect::Gemini).is_some_and(|echo| echo.get("id").is_some_and(Value::is_string))
    })
}

fn model<'a>(parts: &[&'a Part], tools: &DefinitionList, third: bool) -> Vec<GeminiPartOut<'a>> {
    let ids = sends_ids(parts.iter().copied());
    let mut first_call = true;
    let parts = parts.iter().map(|&part| {
        let mut own = Own { thought_signature: signature(part), ..Own::default() };
        match part {
            Part::Text { text, .. } => own.text = Some(text.as_str().into()),
            Part::Reasoning { text, .. } => {
                own.text = Some(text.as_str().into());
                own.thought = true;
            }
            Part::Call { call, .. } => {
                own.function_call = Some(FunctionCallOut {
                    id: ids.then_some(call.id.as_str()),
                    name: tools.sent_name(&call.name),
                    // The arguments in a history are always objects.
                    args: serde_json::from_str(call.arguments.as_str()).unwrap_or(RawValue::NULL),
                });
                if std::mem::take(&mut first_call) && third && own.thought_signature.is_none() {
                    own.thought_signature = Some(SKIPPED_SIGNATURE);
                }
            }
            Part::Other(echo) => return GeminiPartOut::Echo(&echo.value),
        }
        GeminiPartOut::Own(Box::new(own))
    });
    parts.collect()
}

/// Adds the results of a step's calls: as many in one content as there are calls.
///
/// Models before the third generation refuse media inside of a result, so there it follows as
/// content of the user.
fn results<'a>(
    step: &'a Step,
    tools: &DefinitionList,
    third: bool,
    contents: &mut Vec<ContentOut<'a>>,
) {
    let ids = sends_ids(&step.reply().parts);
    let mut parts = Vec::new();
    let mut apart = Vec::new();
    for (call, result) in step.calls() {
        let name = tools.sent_name(&call.name);
        let mut media: Vec<_> = result
            .content()
            .iter()
            .filter_map(media_in_result)
            .map(|b| MediaPart { inline_data: b })
            .collect();
        if !third {
            apart.extend(media.drain(..).map(|part| {
                GeminiPartOut::Own(Box::new(Own {
                    inline_data: Some(part.inline_data),
                    ..Own::default()
                }))
            }));
        }
        let output = output(result);
        let response = if result.is_error() {
            FunctionResultOut::Error(output)
        } else {
            FunctionResultOut::Output(output)
        };
        let id = ids.then_some(call.id.as_str());
        let response = FunctionResponseOut { id, name, response, parts: media };
        parts.push(GeminiPartOut::Own(Box::new(Own {
            function_response: Some(response),
            ..Own::default()
        })));
    }
    contents.push(ContentOut { role: Some("user"), parts });
    if !apart.is_empty() {
        contents.push(ContentOut { role: Some("user"), parts: apart });
    }
}

/// Returns the output of a result for the model.
fn output(result: &ToolResult) -> Output<'_> {
    // A structure deeper than services read would fail the whole request; sent as text it does not.
    let structure = result.structured_text().filter(|text| !is_too_deep(text));
    if let Some(Ok(json)) = structure.map(serde_json::from_str::<&RawValue>) {
        return Output::Json(json);
    }
    let words = |part: &Content| media_in_result(part).is_none() && part.to_text().is_none();
    if !result.content().iter().any(words) {
        return Output::Text(result.text());
    }
    let texts = result.content().iter();
    let texts = texts.filter(|part| media_in_result(part).is_none() && !is_blank(part));
    let texts: Vec<String> = texts.map(|part| PartText::Of(part).to_string()).collect();
    Output::Text(texts.join("\n").into())
}

/// Returns the bytes of a part that a result may hold.
fn media_in_result(content: &Content) -> Option<BlobOut<'_>> {
    blob(content)
        .filter(|blob| blob.mime_type.starts_with("image/") || blob.mime_type == "application/pdf")
}

/// Returns the bytes of a part, if the model can see or hear them.
pub(in crate::wire) fn blob(content: &Content) -> Option<BlobOut<'_>> {
    let (mime_type, data) = bytes(content)?;
    let taken = match mime_type.split_once('/')? {
        ("image", kind) => matches!(kind, "png" | "jpeg" | "webp" | "heic" | "heif"),
        ("audio" | "video", _) => true,
        ("application", kind) => kind == "pdf",
        _ => false,
    };
    taken.then_some(BlobOut { mime_type, data })
}

fn shown(content: &Content) -> GeminiPartOut<'_> {
    match blob(content) {
        Some(blob) => {
            GeminiPartOut::Own(Box::new(Own { inline_data: Some(blob), ..Own::default() }))
        }
        None => GeminiPartOut::text(PartText::Of(content)),
    }
}
