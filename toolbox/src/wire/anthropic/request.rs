//! Writes a request in the form of Anthropic Messages.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::programs::{CODE_EXECUTION, container, is_of_program, known_caller, runs};
use crate::call::{Content, ToolCall, ToolResult};
use crate::dialect::Dialect;
use crate::model::{Finish, History, Message, ModelRequest, Part, Step, ToolChoice};
use crate::wire::offered::{Offered, OfferedSearch};
use crate::wire::turns::{
    NOTHING_SAID, PartText, RESERVED, TranscriptTurn, bytes, is_blank, turns,
};

/// The default limit of tokens of a reply; the service requires one.
const MAX_TOKENS: u64 = 8192;

/// The option, and the key of a tool, that has arguments streamed before they are complete.
const EAGER: &str = "eager_input_streaming";

/// The number of tools that the service accepts beside a tool search.
const MAX_TOOLS: usize = 10_000;

pub(super) fn body(request: &ModelRequest, model: &str, stream: bool) -> String {
    let tools = Offered::of(request, Dialect::Anthropic);
    serde_json::to_string(&Body { request, model, tools: &tools, stream }).unwrap_or_default()
}

struct Body<'a> {
    request: &'a ModelRequest,
    model: &'a str,
    tools: &'a Offered<'a>,
    stream: bool,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, model, tools, stream } = *self;
        let thinking = thinking(request);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", model)?;
        if request.options.get("max_tokens").is_none_or(Value::is_null) {
            // The budget of thinking counts against the limit, and has to be smaller.
            let budget = thinking.and_then(|thinking| thinking.get("budget_tokens")?.as_u64());
            map.serialize_entry("max_tokens", &budget.unwrap_or(0).saturating_add(MAX_TOKENS))?;
        }
        for (name, value) in &request.options {
            match name.as_str() {
                name if RESERVED.contains(&name) || name == EAGER => {}
                _ if value.is_null() => {}
                "thinking" => {
                    if let Some(thinking) = thinking {
                        map.serialize_entry("thinking", thinking)?;
                    }
                }
                "stop" if value.is_string() => map.serialize_entry("stop_sequences", &[value])?,
                "stop" => map.serialize_entry("stop_sequences", value)?,
                name => map.serialize_entry(name, value)?,
            }
        }
        if let Some(system) = request.system.as_deref().filter(|text| !text.trim().is_empty()) {
            map.serialize_entry("system", system)?;
        }
        let runs = runs(&request.history);
        if request.options.get("container").is_none_or(Value::is_null)
            && let Some(container) = container(&request.history, &runs)
        {
            map.serialize_entry("container", container)?;
        }
        if !request.tools.is_empty() {
            let history = &request.history;
            let eager = request.options.get(EAGER).filter(|eager| eager.is_boolean());
            match &tools.search {
                None if !tools.has_programs() && eager.is_none() => {
                    map.serialize_entry("tools", &*tools.list)?;
                }
                search => {
                    let search = search.as_ref();
                    let tools = ServiceTools { tools, search, history, eager };
                    map.serialize_entry("tools", &tools)?;
                }
            }
            if let Some(choice) = tool_choice(request, tools, thinking) {
                map.serialize_entry("tool_choice", &choice)?;
            }
        }
        map.serialize_entry("messages", &messages(request, tools, &runs))?;
        if stream {
            map.serialize_entry("stream", &true)?;
        }
        map.end()
    }
}

/// Returns the option `thinking`, unless the service would refuse it.
///
/// With thinking enabled, the replies since the last message of the user must begin with a thinking
/// block. Those of another service do not; then the request is sent without thinking until the next
/// message of the user.
fn thinking(request: &ModelRequest) -> Option<&Value> {
    let thinking = request.options.get("thinking")?;
    if thinking.get("type").is_none_or(|kind| kind != "enabled") {
        return Some(thinking);
    }
    let mut open = request
        .history
        .messages()
        .iter()
        .rev()
        .skip_while(|message| matches!(message, Message::User(_)))
        .map_while(|message| match message {
            Message::Step(step) if !step.results().is_empty() => Some(step),
            _ => None,
        })
        .peekable();
    let thought = |step: &std::sync::Arc<Step>| {
        written(step).iter().any(|part| matches!(part, Part::Reasoning { .. }))
    };
    (open.peek().is_none() || open.any(thought)).then_some(thinking)
}

/// The tools; behind them the service's own that runs programs, and those that are loaded once a
/// search refers to them.
struct ServiceTools<'a> {
    tools: &'a Offered<'a>,
    search: Option<&'a OfferedSearch<'a>>,
    history: &'a History,
    /// The option to stream arguments before they are complete.
    eager: Option<&'a Value>,
}

impl Serialize for ServiceTools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { tools, search, history, eager } = *self;
        let mut seq = serializer.serialize_seq(None)?;
        let mut listed = 0;
        for (definition, tool) in tools.listed() {
            listed += 1;
            // The service takes no examples beside a tool search.
            let has_examples = search.is_some() && !definition.examples.is_empty();
            if !has_examples && eager.is_none() {
                seq.serialize_element(&tool.json)?;
                continue;
            }
            let mut tool = tool.to_value();
            if let Some(fields) = tool.as_object_mut().filter(|_| has_examples) {
                fields.shift_remove("input_examples");
            }
            if let Some(eager) = eager {
                tool[EAGER] = eager.clone();
            }
            seq.serialize_element(&tool)?;
        }
        if tools.has_programs() {
            listed += 1;
            let (kind, name) = CODE_EXECUTION;
            seq.serialize_element(&json!({"type": kind, "name": name}))?;
        }
        let Some(search) = search else { return seq.end() };
        let deferred = search.deferred();
        if listed + deferred.tools().len() <= MAX_TOOLS {
            let places = (0..deferred.tools().len()).filter(|at| search.is_found(*at));
            places
                .map(|at| deferred.tool(at).deferred())
                .try_for_each(|tool| seq.serialize_element(tool))?;
        } else {
            // The search is not the service's, so it only needs the tools that were found.
            let found: BTreeSet<usize> = history
                .steps()
                .flat_map(Step::calls)
                .filter_map(|(call, result)| references(search, call, result))
                .flatten()
                .collect();
            found.iter().try_for_each(|at| seq.serialize_element(deferred.tool(*at).deferred()))?;
        }
        seq.end()
    }
}

/// Returns the indices of the tools that a call found, if it was a search whose result is written
/// as references alone.
///
/// With a reference to a tool that is not in the list, the service refuses the whole request.
fn references(
    search: &OfferedSearch<'_>,
    call: &ToolCall,
    result: &ToolResult,
) -> Option<Vec<usize>> {
    if !search.is_named(&call.name) {
        return None;
    }
    let (found, all) = search.found(result);
    (all && !found.is_empty()).then_some(found)
}

fn tool_choice(
    request: &ModelRequest,
    tools: &Offered<'_>,
    thinking: Option<&Value>,
) -> Option<Value> {
    // The service refuses to force a call while it thinks.
    let thinks = thinking
        .and_then(|thinking| thinking.get("type"))
        .is_some_and(|kind| kind == "enabled" || kind == "adaptive");
    // Neither does it beside programs, nor does it make one call at a time then.
    let programs = tools.has_programs();
    let is_free = thinks || programs;
    let mut choice = match &request.tool_choice {
        ToolChoice::None => return Some(json!({"type": "none"})),
        ToolChoice::Required if !is_free => json!({"type": "any"}),
        ToolChoice::Tool(name) if !is_free => {
            json!({"type": "tool", "name": tools.sent_name(name)})
        }
        _ if request.parallel_tool_calls || programs => return None,
        _ => json!({"type": "auto"}),
    };
    if !request.parallel_tool_calls {
        choice["disable_parallel_tool_use"] = true.into();
    }
    Some(choice)
}

#[derive(Serialize)]
struct AnthropicMessageOut<'a> {
    role: &'static str,
    content: Vec<BlockOut<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum BlockOut<'a> {
    Own(Own<'a>),
    Echo(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Own<'a> {
    Text {
        text: PartText<'a>,
    },
    Image {
        source: SourceOut<'a>,
    },
    Document {
        source: SourceOut<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
    },
    ToolUse {
        id: &'a str,
        name: Cow<'a, str>,
        input: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        caller: Option<&'a Value>,
    },
    ToolReference {
        tool_name: &'a str,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<ResultContent<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "base64")]
struct SourceOut<'a> {
    media_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(PartText<'a>),
    Blocks(Vec<Own<'a>>),
}

fn messages<'a>(
    request: &'a ModelRequest,
    tools: &'a Offered<'_>,
    runs: &HashSet<&str>,
) -> Vec<AnthropicMessageOut<'a>> {
    let mut messages: Vec<AnthropicMessageOut<'_>> = Vec::new();
    // Nothing may stand behind the results for a program, so it waits for the next message.
    let mut postponed: Vec<BlockOut<'_>> = Vec::new();
    let mut is_for_program = false;
    let turns = turns(request.history.messages(), |step| written(step));
    let last = turns.len() - 1;
    for (place, turn) in turns.into_iter().enumerate() {
        let user = |content| AnthropicMessageOut { role: "user", content };
        match turn {
            TranscriptTurn::User(contents) => {
                postponed.extend(contents.into_iter().map(|content| BlockOut::Own(shown(content))));
                match messages.last_mut() {
                    Some(results) if results.role == "user" && is_for_program => {}
                    // It holds the results of the calls just before, which stay first.
                    Some(results) if results.role == "user" => {
                        results.content.append(&mut postponed);
                    }
                    _ => messages.push(user(std::mem::take(&mut postponed))),
                }
            }
            TranscriptTurn::Model(parts) => {
                let mut content: Vec<_> =
                    parts.into_iter().map(|part| block(part, tools, runs)).collect();
                // The service refuses a transcript that ends in a text of the model with trailing
                // blanks.
                if let (true, Some(BlockOut::Own(Own::Text { text: PartText::Plain(text) }))) =
                    (place == last, content.last_mut())
                {
                    *text = text.trim_end().to_owned().into();
                }
                messages.push(AnthropicMessageOut { role: "assistant", content });
            }
            TranscriptTurn::Results(step) => {
                is_for_program = is_of_program(step, runs);
                let results = step.calls().map(|(call, own)| {
                    if is_for_program { program_result(own) } else { result(call, own, tools) }
                });
                let mut content: Vec<_> = results.map(BlockOut::Own).collect();
                if !is_for_program {
                    content.append(&mut postponed);
                }
                messages.push(user(content));
            }
        }
    }
    if !postponed.is_empty() && messages.last().is_some_and(|last| last.role != "user") {
        messages.push(AnthropicMessageOut { role: "user", content: postponed });
    }
    for message in &mut messages {
        if message.content.is_empty() {
            message.content.push(BlockOut::Own(Own::Text { text: NOTHING_SAID.into() }));
        }
    }
    messages
}

/// Returns the parts of a step that are sent.
pub(super) fn written(step: &Step) -> Vec<&Part> {
    let whole = step.reply().finish.allows_calls() || step.reply().finish == Finish::Pause;
    let mut parts: Vec<&Part> = step
        .reply()
        .parts
        .iter()
        .filter(|part| match part {
            Part::Text { text, .. } => !text.trim().is_empty(),
            Part::Call { .. } => true,
            Part::Reasoning { .. } => part
                .echo(Dialect::Anthropic)
                .is_some_and(|block| matches!(kind(block), Some("thinking" | "redacted_thinking"))),
            Part::Other(_) => {
                part.echo(Dialect::Anthropic).is_some_and(|block| match kind(block) {
                    // Kinds with parts of their own are written from those.
                    None
                    | Some(
                        "text" | "thinking" | "redacted_thinking" | "tool_use" | "tool_result",
                    ) => false,
                    // A call that was cut off before its result: the service refuses the one
                    // without the other.
                    Some("server_tool_use" | "mcp_tool_use") => whole || has_result(step, block),
                    Some(_) => true,
                })
            }
        })
        .collect();
    // A message must not end with thinking, as a reply does that was cut off there.
    while matches!(parts.last(), Some(Part::Reasoning { .. })) {
        parts.pop();
    }
    parts
}

pub(super) fn kind(block: &Value) -> Option<&str> {
    block.get("type")?.as_str()
}

fn has_result(step: &Step, call: &Value) -> bool {
    step.reply().parts.iter().any(|part| {
        part.echo(Dialect::Anthropic)
            .and_then(|block| block.get("tool_use_id"))
            .is_some_and(|id| Some(id) == call.get("id"))
    })
}

fn block<'a>(part: &'a Part, tools: &Offered<'_>, runs: &HashSet<&str>) -> BlockOut<'a> {
    let echo = part.echo(Dialect::Anthropic);
    match (part, echo) {
        (Part::Call { call, .. }, _) => BlockOut::Own(Own::ToolUse {
            id: &call.id,
            name: tools.sent_name(&call.name),
            // The arguments in a history are always objects.
            input: serde_json::from_str(call.arguments.as_str()).unwrap_or(no_arguments()),
            caller: known_caller(part, runs),
        }),
        (Part::Reasoning { .. } | Part::Other(_), Some(block)) => BlockOut::Echo(block),
        (Part::Text { text, .. } | Part::Reasoning { text, .. }, _) => {
            BlockOut::Own(Own::Text { text: text.as_str().into() })
        }
        (Part::Other(echo), None) => BlockOut::Echo(&echo.value),
    }
}

fn no_arguments() -> &'static RawValue {
    serde_json::from_str("{}").unwrap_or(RawValue::NULL)
}

fn result<'a>(call: &ToolCall, result: &'a ToolResult, tools: &'a Offered<'_>) -> Own<'a> {
    let search = tools.search.as_ref();
    if let Some((search, found)) =
        search.and_then(|search| Some((search, references(search, call, result)?)))
    {
        let references = found
            .into_iter()
            .map(|at| Own::ToolReference { tool_name: &search.deferred().tool(at).name });
        return Own::ToolResult {
            tool_use_id: result.call_id(),
            content: Some(ResultContent::Blocks(references.collect())),
            is_error: false,
        };
    }
    let parts = result.content().iter().filter(|part| !is_blank(part));
    let mut blocks: Vec<_> = parts.map(shown).collect();
    let content = match (blocks.pop(), blocks.is_empty()) {
        (Some(Own::Text { text }), true) => Some(ResultContent::Text(text)),
        (Some(last), _) => {
            blocks.push(last);
            Some(ResultContent::Blocks(blocks))
        }
        (None, _) => match result.text() {
            text if !text.trim().is_empty() => Some(ResultContent::Text(PartText::Plain(text))),
            // The service refuses a failure without a text.
            _ => result.is_error().then_some(ResultContent::Text("failed".into())),
        },
    };
    Own::ToolResult { tool_use_id: result.call_id(), content, is_error: result.is_error() }
}

/// Returns the block of a result that a program reads: as one text, and as JSON where it is that.
fn program_result(result: &ToolResult) -> Own<'_> {
    let is_text = result.content().iter().all(|part| part.to_text().is_some());
    let text = match result.json_text() {
        Some(json) => json,
        None if is_text => result.text(),
        None => {
            let texts = result.content().iter().map(|part| PartText::Of(part).to_string());
            Cow::Owned(texts.collect::<Vec<_>>().join("\n"))
        }
    };
    // The service refuses a failure without a text.
    let text = if result.is_error() && text.trim().is_empty() { "failed".into() } else { text };
    let content = (!text.is_empty()).then_some(ResultContent::Text(PartText::Plain(text)));
    Own::ToolResult { tool_use_id: result.call_id(), content, is_error: result.is_error() }
}

/// The maximum length of a picture in base64, wherever the models are served: a larger one has each
/// later request refused.
const MAX_IMAGE: usize = 5 << 20;

/// Returns the block of a part, or a text in place of a part that cannot be sent.
fn shown(content: &Content) -> Own<'_> {
    match bytes(content) {
        Some((media_type @ ("image/jpeg" | "image/png" | "image/gif" | "image/webp"), data))
            if data.len() <= MAX_IMAGE =>
        {
            Own::Image { source: SourceOut { media_type, data } }
        }
        Some((media_type @ "application/pdf", data)) => {
            let title = match content {
                Content::Resource(resource) => Some(resource.uri.as_str()),
                _ => None,
            };
            // A title has 1 to 500 characters.
            let title = title.filter(|title| (1..=500).contains(&title.chars().count()));
            Own::Document { source: SourceOut { media_type, data }, title }
        }
        _ => Own::Text { text: PartText::Of(content) },
    }
}
