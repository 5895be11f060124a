//! What a server answered to a call, as the result of a call.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::text;
use crate::arguments::cold::{self, Bounds};
use crate::content::Content;
use crate::error::FailureKind;
use crate::result::ToolResult;
use crate::unseen::{QUOTED, quote};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    result_type: Option<String>,
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow)]
    structured_content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(borrow)]
    input_requests: Option<&'a RawValue>,
}

/// Turns the text of a result into a result. `tool` is named where it cannot be read.
pub(super) fn result_of(tool: &str, raw: &str) -> ToolResult {
    let wire: Wire<'_> = match serde_json::from_str(raw) {
        Ok(wire) => wire,
        Err(error) => return unreadable(tool, &error.to_string()),
    };
    match wire.result_type.as_deref() {
        None | Some("complete") => {}
        Some("input_required") => return input_required(tool, wire.input_requests),
        Some(other) => {
            let other = text::clean(text::cut(other, 100)).into_owned();
            return unreadable(tool, &format!("results of type `{other}` are not understood"));
        }
    }
    let mut parts: Vec<Content> = wire.content.iter().map(|part| content(part.get())).collect();
    let structured = wire.structured_content.map(|raw| serde_json::from_str::<Value>(raw.get()));
    let structured = match structured.transpose() {
        Ok(structured) => structured.map(|mut value| {
            text::clean_value(&mut value);
            value
        }),
        Err(error) => return unreadable(tool, &error.to_string()),
    };
    if wire.is_error == Some(true) {
        if parts.is_empty() {
            let told = structured.map(|value| value.to_string());
            parts.push(Content::Text(told.unwrap_or_else(|| format!("tool `{tool}` failed"))));
        }
        return ToolResult::reported(parts);
    }
    match structured {
        None if parts.is_empty() => ToolResult::new(""),
        None => made_of(parts),
        // A text that only repeats the structured result would cost a model the same twice.
        Some(value) if parts.is_empty() || mirrors(&parts, &value) => {
            ToolResult::structured(value.to_string())
        }
        Some(value) => made_of(parts).with_structured(value),
    }
}

/// Returns what of a result is not as the tool's output schema says.
pub(super) fn misfit(result: &ToolResult, schema: Option<&Value>) -> Option<String> {
    let schema = schema.filter(|_| !result.is_error())?;
    let Some(structured) = result.structured_content() else {
        return Some("there is no structured result".to_owned());
    };
    let faults = cold::conforms(&structured.to_string(), schema, schema, "", &Bounds::default());
    faults.first().map(|fault| text::clean(text::cut(&fault.to_string(), 300)).into_owned())
}

fn made_of(mut parts: Vec<Content>) -> ToolResult {
    match parts.pop() {
        Some(only) if parts.is_empty() => ToolResult::from(only),
        last => {
            parts.extend(last);
            ToolResult::from(parts)
        }
    }
}

pub(super) fn unreadable(tool: &str, reason: &str) -> ToolResult {
    let reason = quote(reason, 4 * QUOTED);
    let message = format!("the answer of tool `{tool}` cannot be read: {reason}");
    ToolResult::failure(FailureKind::InvalidOutput, message)
}

/// Servers may ask for more in the middle of a call; nobody here answers for a user.
fn input_required(tool: &str, requests: Option<&RawValue>) -> ToolResult {
    let requests: Option<serde_json::Map<String, Value>> =
        requests.and_then(|requests| serde_json::from_str(requests.get()).ok());
    let mut asked: Vec<String> = requests
        .iter()
        .flat_map(serde_json::Map::values)
        .filter_map(|request| request.get("method")?.as_str())
        .map(|method| text::clean(text::cut(method, 100)).into_owned())
        .collect();
    asked.dedup();
    asked.truncate(5);
    let asked = if asked.is_empty() { "more input".to_owned() } else { asked.join(", ") };
    ToolResult::error(format!(
        "tool `{tool}` did not finish: its server asks for {asked} in the middle of the call, which is off; call it with arguments that need no question"
    ))
}

/// Returns whether the only text is the structured result once more, or its only field.
fn mirrors(parts: &[Content], value: &Value) -> bool {
    let [Content::Text(text)] = parts else { return false };
    let same = |value: &Value| match value {
        Value::String(own) if own == text => true,
        value => serde_json::from_str::<Value>(text).is_ok_and(|text| text == *value),
    };
    let wrapped = value.as_object().filter(|map| map.len() == 1).and_then(|map| map.get("result"));
    same(value) || wrapped.is_some_and(same)
}

/// Reads one part. What cannot be read is told as such, and the other parts stay.
fn content(raw: &str) -> Content {
    #[derive(Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Link {
        ResourceLink { uri: String, name: Option<String>, description: Option<String> },
    }
    if let Ok(content) = serde_json::from_str::<Content>(raw) {
        return cleaned(content);
    }
    match serde_json::from_str(raw) {
        Ok(Link::ResourceLink { uri, name, description }) => {
            let mut link = format!("[resource] {uri}");
            for more in [name, description].into_iter().flatten() {
                link.push_str(" - ");
                link.push_str(&more);
            }
            Content::Text(text::clean(&link).into_owned())
        }
        Err(_) => Content::Text("[a part of the result cannot be read]".to_owned()),
    }
}

fn cleaned(mut content: Content) -> Content {
    let clean = |text: &mut String| {
        if let std::borrow::Cow::Owned(cleaned) = text::clean(text) {
            *text = cleaned;
        }
    };
    match &mut content {
        Content::Text(text) => clean(text),
        Content::Image(media) | Content::Audio(media) => clean(&mut media.mime_type),
        Content::Resource(resource) => {
            clean(&mut resource.uri);
            resource.text.iter_mut().chain(&mut resource.mime_type).for_each(clean);
        }
    }
    content
}
