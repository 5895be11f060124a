//! Results of the box in the form of the protocol.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::protocol::ProtocolVersion;
use crate::call::{Content, ResourceLink, ToolResult};
use crate::context::keeper::kept_result_uri;
use crate::text::json_value;
use crate::validate::{self, ValidationLimits};

/// The key in `_meta` of a failed result for data that the output schema of its tool does not
/// describe.
const ERROR_DATA: &str = "toolbox/error";

/// The client's properties that determine the form of a result.
#[derive(Clone, Copy)]
pub(super) struct ResultFormat<'a> {
    pub(super) version: ProtocolVersion,
    /// The output schema that the client received for the tool.
    pub(super) output_schema: Option<&'a Value>,
    /// `true` if the client can read kept results as resources.
    pub(super) links_results: bool,
}

/// The result of `tools/call`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    content: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Structure<'a>>,
    is_error: bool,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Cow<'a, Map<String, Value>>>,
}

/// A part of the content.
pub(super) enum Block<'a> {
    Part(&'a Content),
    Text(Cow<'a, str>),
    /// A part in another form than its own.
    Changed(Value),
}

/// A structured result: the text of its JSON where there is one.
enum Structure<'a> {
    Text(&'a RawValue),
    Value(Cow<'a, Value>),
}

pub(super) fn written<'a>(result: &'a ToolResult, format: ResultFormat<'_>) -> CallAnswer<'a> {
    let mut content = blocks(result, format.version);
    let mut meta = result.meta().map(Cow::Borrowed);
    let mut structured = structure(result, format.output_schema.is_some());
    // A result without the promised structure matches no output schema, and a client that validates
    // it would blame the tool.
    let is_cut =
        format.output_schema.is_some() && result.omitted_bytes() > 0 && structured.is_none();
    if result.is_error() {
        if let Some(data) = structured.take() {
            // A client that validates the structure of a failure would report the mismatch instead
            // of the failure.
            if format.takes(&data) && data.fits(format.output_schema) {
                structured = Some(data);
            } else {
                meta.get_or_insert_default().to_mut().insert(ERROR_DATA.to_owned(), data.value());
            }
        }
    } else {
        structured = structured.filter(|value| format.takes(value));
        if let Some(own) = result.user_text().filter(|text| *text != result.text() && !is_cut) {
            content.push(Block::Changed(
                json!({"type": "text", "text": own, "annotations": {"audience": ["user"]}}),
            ));
        }
    }
    if let Some(handle) = result.handle().filter(|_| format.links_results) {
        let uri = kept_result_uri(handle);
        let link = ResourceLink::new(uri, handle).with_description("The whole result");
        let link = json_value(&Content::ResourceLink(Box::new(link)));
        content.extend(link.map(Block::Changed));
    }
    CallAnswer {
        result_type: result_type(format.version),
        content,
        structured_content: structured,
        is_error: result.is_error() || is_cut,
        meta,
    }
}

/// Returns a failure in a few words.
pub(super) fn failed(text: &str, version: ProtocolVersion) -> CallAnswer<'_> {
    CallAnswer {
        result_type: result_type(version),
        content: vec![Block::Text(text.into())],
        structured_content: None,
        is_error: true,
        meta: None,
    }
}

fn result_type(version: ProtocolVersion) -> Option<&'static str> {
    version.is_modern().then_some("complete")
}

impl ResultFormat<'_> {
    /// Returns whether the client's version supports a structured result of this kind.
    fn takes(self, value: &Structure<'_>) -> bool {
        self.version.is_modern() || self.version.has_structure() && value.is_object()
    }
}

impl Structure<'_> {
    fn is_object(&self) -> bool {
        match self {
            Self::Text(text) => text.get().starts_with('{'),
            Self::Value(value) => value.is_object(),
        }
    }

    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text.get()),
            Self::Value(value) => Cow::Owned(value.to_string()),
        }
    }

    fn fits(&self, schema: Option<&Value>) -> bool {
        schema.is_none_or(|schema| {
            let limits = ValidationLimits::default();
            validate::conforms(&self.text(), schema, schema, "", &limits).is_empty()
        })
    }

    fn value(self) -> Value {
        match self {
            Self::Text(text) => serde_json::from_str(text.get()).unwrap_or_default(),
            Self::Value(value) => value.into_owned(),
        }
    }
}

/// Returns the result as JSON: its structured value, or its text if it has nothing else.
fn structure(result: &ToolResult, is_expected: bool) -> Option<Structure<'_>> {
    if let Some(value) = result.structured_value() {
        return Some(Structure::Value(Cow::Borrowed(value)));
    }
    let text = match (result.structured_text(), result.content()) {
        (Some(text), _) => text,
        (None, [Content::Text(text)]) if is_expected && !result.is_error() => text,
        _ => return None,
    };
    // A message is one line, and JSON may have line breaks between its parts.
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
        return serde_json::from_str(text).ok().map(|value| Structure::Value(Cow::Owned(value)));
    }
    serde_json::from_str(text).ok().map(Structure::Text)
}

fn blocks(result: &ToolResult, version: ProtocolVersion) -> Vec<Block<'_>> {
    let says_nothing = |part: &Content| part.as_text().is_some_and(str::is_empty);
    let mut blocks: Vec<_> = if result.content().iter().all(says_nothing) {
        vec![Block::Text(result.text())]
    } else {
        result.content().iter().map(|own| part(own, version)).collect()
    };
    if result.is_silent() {
        for block in &mut blocks {
            if let Some(mut value) = json_value(block) {
                value["annotations"]["audience"] = json!(["assistant"]);
                *block = Block::Changed(value);
            }
        }
    }
    blocks
}

/// Returns a part in the form of a version.
pub(super) fn part(part: &Content, version: ProtocolVersion) -> Block<'_> {
    match part {
        // Older clients may refuse a whole result for one part of an unknown kind.
        Content::Audio(media) if !version.has_audio() => {
            let text =
                format!("[audio of type {}, which this version of MCP lacks]", media.mime_type);
            Block::Text(text.into())
        }
        Content::ResourceLink(link) if !version.has_structure() => {
            Block::Text(link.to_string().into())
        }
        Content::ResourceLink(link) if !version.has_icons() && !link.icons.is_empty() => {
            let link = ResourceLink { icons: Vec::new(), ..(**link).clone() };
            json_value(&Content::ResourceLink(Box::new(link)))
                .map_or(Block::Part(part), Block::Changed)
        }
        _ => Block::Part(part),
    }
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// A text without attributes, as most parts are.
        #[derive(Serialize)]
        struct PlainText<'a> {
            r#type: &'static str,
            text: &'a str,
        }
        let plain = |text| PlainText { r#type: "text", text };
        match self {
            Self::Text(text) => plain(text).serialize(serializer),
            Self::Part(part) => match part.as_text() {
                Some(text) if part.annotations().is_none() && part.meta().is_none() => {
                    plain(text).serialize(serializer)
                }
                _ => part.serialize(serializer),
            },
            Self::Changed(value) => value.serialize(serializer),
        }
    }
}

impl Serialize for Structure<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Value(value) => value.serialize(serializer),
        }
    }
}
