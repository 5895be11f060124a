//! One part of a server's answer.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::text;
use crate::call::Content;
use crate::text::{QUOTED, quote};

/// The members of a part that carry it; one of the others that cannot be read is left out.
const CARRYING: [&str; 8] = ["type", "text", "data", "mimeType", "uri", "name", "resource", "blob"];

/// Reads one part. A part that cannot be read is replaced by a note, and the other parts stay.
pub(super) fn part(raw: &str) -> Content {
    if let Ok(content) = serde_json::from_str::<Content>(raw) {
        return cleaned(content);
    }
    let Ok(Value::Object(mut members)) = serde_json::from_str::<Value>(raw) else {
        return note("");
    };
    let kind = members.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if kind.is_empty() && members.get("text").is_some_and(Value::is_string) {
        members.insert("type".to_owned(), "text".into());
    }
    if matches!(kind.as_str(), "image" | "audio")
        && !members.get("mimeType").is_some_and(Value::is_string)
    {
        // A `data:` URL says it.
        members.insert("mimeType".to_owned(), "".into());
    }
    members.retain(|key, _| CARRYING.contains(&key.as_str()));
    if let Some(Value::Object(resource)) = members.get_mut("resource") {
        keep_texts(resource);
    }
    match Content::deserialize(Value::Object(members)) {
        Ok(content) => cleaned(content),
        Err(_) => note(&kind),
    }
}

/// Leaves out the members of a document that are no texts.
fn keep_texts(resource: &mut Map<String, Value>) {
    resource.retain(|key, value| CARRYING.contains(&key.as_str()) && value.is_string());
}

fn note(kind: &str) -> Content {
    let kind = match kind {
        "" | "text" | "image" | "audio" | "resource" | "resource_link" => String::new(),
        kind => format!(" of type `{}`", quote(kind, QUOTED)),
    };
    Content::text(format!("[a part{kind} of the result cannot be read]"))
}

/// Returns a part with its texts cleaned: contents as data, names and kinds as what is shown.
pub(super) fn cleaned(mut content: Content) -> Content {
    fn clean_as(clean: impl Fn(&str) -> Cow<'_, str>) -> impl Fn(&mut String) {
        move |text| {
            if let Cow::Owned(cleaned) = clean(text) {
                *text = cleaned;
            }
        }
    }
    let (clean, clean_content) = (clean_as(text::clean), clean_as(text::clean_content));
    match &mut content {
        Content::Text(text) => text.edit(clean_content),
        Content::Image(media) | Content::Audio(media) => clean(&mut media.mime_type),
        Content::Resource(resource) => {
            clean(&mut resource.uri);
            resource.mime_type.iter_mut().for_each(&clean);
            resource.text.iter_mut().for_each(clean_content);
        }
        Content::ResourceLink(connection) => {
            let optional =
                [&mut connection.title, &mut connection.description, &mut connection.mime_type];
            optional.into_iter().flatten().for_each(&clean);
            [&mut connection.uri, &mut connection.name].into_iter().for_each(clean);
        }
    }
    content
}
