//! Writes a request, from borrowed data straight into the text.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::response::{
    CALL_OUTPUT, CUSTOM_CALL, CUSTOM_OUTPUT, PROGRAM, SEARCH_CALL, SEARCH_OUTPUT, is_async,
    is_by_service, is_own_search,
};
use crate::call::{Content, ToolCall, ToolResult};
use crate::definition::{Callers, Namespace, ToolDefinition};
use crate::dialect::grouped::{ListEntry, grouped, namespace_in};
use crate::dialect::{Dialect, ListedTool};
use crate::model::{History, Message, ModelRequest, Part, Reply, Step, ToolChoice};
use crate::wire::offered::{Offered, OfferedSearch};
use crate::wire::openai::custom::custom_input;
use crate::wire::openai::{AsDisplay, DataUrl, ExtraOptions, MessagePart, ResultText};

pub(super) fn write(request: &ModelRequest, model: &str, stream: bool) -> String {
    // A document of text keys and plain values always serializes.
    serde_json::to_string(&Body {
        request,
        tools: &Offered::of(request, Dialect::OpenAiResponses),
        model,
        stream,
    })
    .unwrap_or_default()
}

struct Body<'a> {
    request: &'a ModelRequest,
    tools: &'a Offered<'a>,
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
        let system = request.system.as_deref().filter(|text| !text.trim().is_empty());
        if let Some(system) = system {
            map.serialize_entry("instructions", system)?;
        }
        let is_stored = request.options.get("store").and_then(Value::as_bool) == Some(true);
        let programs = programs(&request.history);
        let items = InputItems { request, tools: self.tools, is_stored, programs };
        map.serialize_entry("input", &items)?;
        if has_tools {
            if self.tools.search.is_some() || self.tools.has_programs() {
                map.serialize_entry("tools", &ServiceTools { tools: self.tools })?;
            } else {
                map.serialize_entry("tools", &*self.tools.list)?;
            }
            let choice = tool_choice(&request.tool_choice, self.tools);
            options.call_entries(&mut map, choice, request.parallel_tool_calls)?;
        }
        if self.stream {
            map.serialize_entry("stream", &true)?;
        }
        options.default_entry(&mut map, "store", &false)?;
        if may_reason(self.model) {
            options.default_entry(&mut map, "include", &["reasoning.encrypted_content"])?;
        }
        let given = |key: &str| request.options.get(key).filter(|value| !value.is_null());
        if let Some(most) = given("max_tokens") {
            options.default_entry(&mut map, "max_output_tokens", most)?;
        }
        if let Some(effort) = given("reasoning_effort") {
            options.default_entry(&mut map, "reasoning", &json!({"effort": effort}))?;
        }
        options.write(&mut map, |key| match key {
            "model" | "input" | "tools" | "stream" | "max_tokens" | "reasoning_effort" => true,
            "instructions" => system.is_some(),
            // The service refuses them without the tools they refer to.
            "tool_choice" | "parallel_tool_calls" => !has_tools,
            _ => false,
        })?;
        map.end()
    }
}

/// Returns `true` if a model may be asked for its reasoning. Models without any refuse the option,
/// and their list is closed.
fn may_reason(model: &str) -> bool {
    // Gateways put the maker before the name; tuned models put `ft:` there.
    let name = model.rsplit('/').next().unwrap_or(model).trim_start_matches("ft:");
    !(name.starts_with("gpt-4") || name.starts_with("gpt-3") || name.contains("chat"))
}

/// Returns the choice in the service's form; `None` for the service's default.
fn tool_choice(choice: &ToolChoice, tools: &Offered<'_>) -> Option<Value> {
    let is_function = |name: &str| {
        let is_search = tools.search.as_ref().is_some_and(|search| search.is_named(name));
        !is_search && tools.listed().any(|(definition, _)| definition.name == name)
    };
    let is_for_programs = |name: &str| {
        let mut listed = tools.list.pairs();
        listed.any(|(own, _)| own.name == name && own.callers == Callers::Programs)
    };
    Some(match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        // There is no choice for a search, nor for a tool that has yet to be found.
        ToolChoice::Tool(name) if tools.search.is_some() && !is_function(name) => json!("required"),
        ToolChoice::Tool(name) if is_for_programs(name) => json!({"type": PROGRAMS}),
        ToolChoice::Tool(name) => {
            let entry = tools.list.position(name).map(|at| tools.list.tool(at).to_value());
            let kind = entry.map_or("function".into(), |entry| entry["type"].clone());
            json!({"type": kind, "name": tools.sent_name(name)})
        }
    })
}

/// The type of the service's own tool that runs programs.
const PROGRAMS: &str = "programmatic_tool_calling";

/// The tools, with the service's own form of the one that searches, and its own that runs programs.
struct ServiceTools<'a> {
    tools: &'a Offered<'a>,
}

impl Serialize for ServiceTools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let search = self.tools.search.as_ref();
        let own = self.tools.listed().map(|(definition, lowered)| {
            if search.is_some_and(|search| search.is_named(&definition.name)) {
                (None, ToolItem::Search(SearchTool::of(definition, lowered)))
            } else {
                (namespace_of(definition), ToolItem::Function(&lowered.json))
            }
        });
        let programs = self.tools.has_programs().then(|| ToolItem::Own(json!({"type": PROGRAMS})));
        serializer.collect_seq(grouped(own.chain(programs.map(|programs| (None, programs)))))
    }
}

fn namespace_of(definition: &ToolDefinition) -> Option<&Namespace> {
    namespace_in(definition, Dialect::OpenAiResponses)
}

#[derive(Serialize)]
#[serde(untagged)]
enum ToolItem<'a> {
    Search(SearchTool),
    Function(&'a RawValue),
    Own(Value),
}

#[derive(Serialize)]
struct SearchTool {
    #[serde(rename = "type")]
    kind: &'static str,
    execution: &'static str,
    description: Value,
    parameters: Value,
}

impl SearchTool {
    fn of(definition: &ToolDefinition, lowered: &ListedTool) -> Self {
        let mut tool = lowered.to_value();
        let schema = &definition.input_schema;
        // The tool has no strict mode, so its schema is sent as it was written, unless that is no
        // object.
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        Self {
            kind: "tool_search",
            execution: "client",
            description: tool["description"].take(),
            parameters: if is_object { schema.clone().into() } else { tool["parameters"].take() },
        }
    }
}

struct InputItems<'a> {
    request: &'a ModelRequest,
    tools: &'a Offered<'a>,
    /// `true` if the service stores its replies, and knows its items by their ids.
    is_stored: bool,
    /// The ids of the programs in the transcript.
    programs: HashSet<&'a str>,
}

/// Returns the ids of the programs in a transcript.
fn programs(history: &History) -> HashSet<&str> {
    let parts = history.steps().flat_map(|step| &step.reply().parts);
    let items = parts.filter(|part| matches!(part, Part::Other(_)));
    let items = items.filter_map(|part| part.echo(Dialect::OpenAiResponses));
    let programs = items.filter(|item| item.get("type").is_some_and(|kind| kind == PROGRAM));
    programs.filter_map(|item| item.get("call_id")?.as_str()).collect()
}

impl Serialize for InputItems<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        for message in self.request.history.messages() {
            match message {
                Message::User(content) => {
                    let content = UserParts::of(content);
                    if !content.0.is_empty() {
                        seq.serialize_element(&MessageItem { role: "user", content })?;
                    }
                }
                Message::Step(step) => self.write_step(&mut seq, step)?,
            }
        }
        seq.end()
    }
}

impl InputItems<'_> {
    fn write_step<S: SerializeSeq>(&self, seq: &mut S, step: &Step) -> Result<(), S::Error> {
        self.write_reply(seq, step.reply())?;
        let mut fruitless = Vec::new();
        let calls = step.reply().parts.iter().filter_map(|part| match part {
            Part::Call { call, .. } => Some((call, part.echo(Dialect::OpenAiResponses))),
            _ => None,
        });
        for ((call, echo), result) in calls.zip(step.results()) {
            if let Some(search) = self.searches(call, echo) {
                let (found, _) = search.found(result);
                if result.references().is_empty() || result.is_error() {
                    fruitless.push(result);
                }
                seq.serialize_element(&SearchOutputItem {
                    kind: SEARCH_OUTPUT,
                    call_id: &call.id,
                    execution: "client",
                    status: "completed",
                    tools: grouped(found.into_iter().map(|at| {
                        let tools = search.deferred();
                        (namespace_of(tools.definition(at)), &*tools.tool(at).json)
                    })),
                })?;
            } else if !(is_async(echo) && result.is_pending()) {
                let caller = self.caller(echo);
                let is_for_program = caller.is_some_and(|caller| caller.get("caller_id").is_some());
                seq.serialize_element(&CallOutputItem {
                    kind: if custom_input(call, echo, CUSTOM_CALL).is_some() {
                        CUSTOM_OUTPUT
                    } else {
                        CALL_OUTPUT
                    },
                    call_id: &call.id,
                    output: ResultOutput { result, is_for_program },
                    caller,
                })?;
            }
        }
        // An output of a search has no field for text, such as a failure. Such texts follow as
        // messages of the user, behind all outputs, since they are no instructions.
        for result in fruitless {
            let text = result.text();
            if !text.trim().is_empty() {
                let content = format!("The search found no tools: {text}");
                seq.serialize_element(&MessageItem { role: "user", content })?;
            }
        }
        Ok(())
    }

    /// Returns the caller of a call, unless that is a program which the transcript holds no more.
    fn caller<'e>(&self, echo: Option<&'e Value>) -> Option<&'e Value> {
        let caller = echo?.get("caller").filter(|caller| caller.is_object())?;
        let id = caller.get("caller_id").map(|id| id.as_str().unwrap_or_default());
        id.is_none_or(|id| self.programs.contains(id)).then_some(caller)
    }

    /// Returns the search of a call, in the service's own form.
    fn searches(&self, call: &ToolCall, echo: Option<&Value>) -> Option<&OfferedSearch<'_>> {
        let search = self.tools.search.as_ref()?;
        (search.is_named(&call.name) || is_own_search(echo)).then_some(search)
    }

    fn write_reply<S: SerializeSeq>(&self, seq: &mut S, reply: &Reply) -> Result<(), S::Error> {
        let last = reply.parts.iter().rposition(|part| match part {
            Part::Text { text, .. } => !text.trim().is_empty(),
            Part::Call { .. } => true,
            Part::Other(_) => Self::other(reply, part).is_some(),
            Part::Reasoning { .. } => false,
        });
        // Reasoning without the item that followed it is refused, so a reply that was cut off there
        // is left out.
        let Some(last) = last else { return Ok(()) };
        for part in &reply.parts[..=last] {
            let echo = part.echo(Dialect::OpenAiResponses);
            let own = |key: &str| echo.and_then(|echo| echo.get(key));
            match part {
                Part::Text { text, .. } if text.trim().is_empty() => {}
                Part::Text { text, .. } => match own("id").and_then(Value::as_str) {
                    Some(id) => seq.serialize_element(&AnswerItem {
                        kind: "message",
                        role: "assistant",
                        id,
                        status: "completed",
                        content: [AnswerItemText { kind: "output_text", text, annotations: [] }],
                        phase: own("phase"),
                    })?,
                    None => {
                        seq.serialize_element(&MessageItem { role: "assistant", content: text })?;
                    }
                },
                Part::Call { call, .. } if self.searches(call, echo).is_some() => {
                    let text = call.arguments.as_str();
                    seq.serialize_element(&SearchCallItem {
                        kind: SEARCH_CALL,
                        // The service tells items apart by how their ids begin.
                        id: own("id").filter(|_| is_own_search(echo)),
                        call_id: &call.id,
                        execution: "client",
                        status: "completed",
                        // The arguments in a history are always objects.
                        arguments: serde_json::from_str(text).unwrap_or(RawValue::NULL),
                    })?;
                }
                Part::Call { call, .. } => {
                    let input = custom_input(call, echo, CUSTOM_CALL);
                    let is_custom = input.is_some();
                    // The type stands in an echo only if it is not that of a function.
                    let is_same = is_custom || own("type").is_none();
                    seq.serialize_element(&CallItem {
                        kind: if is_custom { CUSTOM_CALL } else { "function_call" },
                        id: own("id").filter(|_| is_same),
                        call_id: &call.id,
                        name: self.tools.sent_name(&call.name),
                        namespace: own("namespace"),
                        caller: self.caller(echo),
                        is_async: is_async(echo),
                        arguments: (!is_custom).then_some(call.arguments.as_str()),
                        input,
                    })?;
                }
                Part::Reasoning { .. } => {
                    if let Some(item) = echo.filter(|item| self.is_understood(item)) {
                        seq.serialize_element(item)?;
                    }
                }
                Part::Other(_) => {
                    if let Some(item) = Self::other(reply, part) {
                        seq.serialize_element(item)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns `true` if the service can read a reasoning item: it is complete, or the service has
    /// stored it.
    fn is_understood(&self, item: &Value) -> bool {
        let has = |key: &str| match item.get(key) {
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(parts)) => !parts.is_empty(),
            _ => false,
        };
        self.is_stored || has("encrypted_content") || has("content")
    }

    /// Returns an item of the service's own that is sent back; not one that waits for an output
    /// that nobody can give.
    fn other<'p>(reply: &Reply, part: &'p Part) -> Option<&'p Value> {
        let item = part.echo(Dialect::OpenAiResponses)?;
        match item.get("type")?.as_str()? {
            // A search that the service made itself, and answered.
            SEARCH_CALL if is_by_service(item) && has_output(reply) => Some(item),
            // The first three kinds have parts of their own, and are written from those.
            "reasoning"
            | "function_call"
            | CALL_OUTPUT
            | CUSTOM_CALL
            | CUSTOM_OUTPUT
            | "computer_call"
            | "local_shell_call"
            | "shell_call"
            | "apply_patch_call"
            | SEARCH_CALL
            | "mcp_approval_request" => None,
            _ => Some(item),
        }
    }
}

fn has_output(reply: &Reply) -> bool {
    let others = reply.parts.iter().filter(|part| matches!(part, Part::Other(_)));
    others.filter_map(|part| part.echo(Dialect::OpenAiResponses)).any(|item| {
        is_by_service(item) && item.get("type").is_some_and(|kind| kind == SEARCH_OUTPUT)
    })
}

#[derive(Serialize)]
struct MessageItem<C> {
    role: &'static str,
    content: C,
}

/// A text of the model as it came, under its id.
#[derive(Serialize)]
struct AnswerItem<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    id: &'a str,
    status: &'static str,
    content: [AnswerItemText<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a Value>,
}

#[derive(Serialize)]
struct AnswerItemText<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    annotations: [(); 0],
}

#[derive(Serialize)]
struct CallItem<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    call_id: &'a str,
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<&'a Value>,
    #[serde(rename = "async", skip_serializing_if = "std::ops::Not::not")]
    is_async: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a str>,
    /// The text of a call without JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
}

#[derive(Serialize)]
struct SearchCallItem<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    call_id: &'a str,
    execution: &'static str,
    status: &'static str,
    arguments: &'a RawValue,
}

/// The tools a search found, whole.
#[derive(Serialize)]
struct SearchOutputItem<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: &'a str,
    execution: &'static str,
    status: &'static str,
    tools: Vec<ListEntry<'a, &'a RawValue>>,
}

#[derive(Serialize)]
struct CallOutputItem<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: &'a str,
    output: ResultOutput<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<&'a Value>,
}

/// A result: its text, or a list of parts when there is an image or a document in it.
struct ResultOutput<'a> {
    result: &'a ToolResult,
    /// `true` if a program reads it, as one JSON text.
    is_for_program: bool,
}

impl Serialize for ResultOutput<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let result = self.result;
        let content = result.content();
        let has_more =
            content.iter().any(|part| MessagePart::of(part).without_sound().is_attachment());
        match self.is_for_program.then(|| result.json_text()) {
            Some(Some(json)) => serializer.serialize_str(&json),
            None if has_more => UserParts::of(content).0.serialize(serializer),
            _ => ResultText(result).serialize(serializer),
        }
    }
}

/// The parts of a message of the user; one text is written as a string.
struct UserParts<'a>(Vec<UserPart<'a>>);

#[derive(Serialize)]
#[serde(tag = "type")]
enum UserPart<'a> {
    #[serde(rename = "input_text")]
    Text { text: AsDisplay<MessagePart<'a>> },
    #[serde(rename = "input_image")]
    Image { detail: &'static str, image_url: AsDisplay<DataUrl<'a>> },
    #[serde(rename = "input_file")]
    File { filename: &'a str, file_data: AsDisplay<DataUrl<'a>> },
}

impl<'a> UserParts<'a> {
    fn of(content: &'a [Content]) -> Self {
        let pieces = content.iter().map(MessagePart::of).filter(|piece| !piece.is_blank());
        let parts = pieces.map(|piece| match piece.without_sound() {
            MessagePart::Image(bytes) => UserPart::Image { detail: "auto", image_url: bytes.url() },
            MessagePart::File { name, bytes } => {
                UserPart::File { filename: name, file_data: bytes.url() }
            }
            text => UserPart::Text { text: AsDisplay(text) },
        });
        Self(parts.collect())
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
