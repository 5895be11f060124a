//! The common part of the two forms of `OpenAI`: parts of messages, options, errors, token counts.

pub(super) mod custom;
#[cfg(test)]
pub(super) mod samples;

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::failure::service_error;
use super::format::WireError;
use super::lenient;
use crate::call::{Content, Media, ResourceContents, ResourceLink, ToolResult};
use crate::model::{Finish, Usage};

/// A value that is serialized as its `Display` text, without a copy.
pub(super) struct AsDisplay<T>(pub(super) T);

impl<T: fmt::Display> Serialize for AsDisplay<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Bytes in base64 as a data URL.
pub(super) struct DataUrl<'a> {
    mime: &'a str,
    data: &'a str,
}

impl fmt::Display for DataUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data:{};base64,{}", self.mime, self.data)
    }
}

/// One part of a message, by what the services can do with it.
#[derive(Clone, Copy)]
pub(super) enum MessagePart<'a> {
    /// Text as it is.
    Text(&'a str),
    /// A link to a document, as a line of text.
    Link(&'a ResourceLink),
    /// The text of a document.
    Document { uri: &'a str, text: &'a str },
    /// An image of a type that the services read.
    Image(Base64Data<'a>),
    /// Audio of a type that Chat Completions reads, with the service's name of the type.
    Sound { format: &'static str, bytes: Base64Data<'a> },
    /// A document that the services read by themselves.
    File { name: &'a str, bytes: Base64Data<'a> },
    /// A part that can only be mentioned.
    Unreadable { what: &'static str, mime: &'a str },
}

/// Bytes in base64, with their MIME type.
#[derive(Clone, Copy)]
pub(super) struct Base64Data<'a> {
    pub(super) mime: &'a str,
    pub(super) data: &'a str,
}

impl<'a> Base64Data<'a> {
    pub(super) fn url(self) -> AsDisplay<DataUrl<'a>> {
        AsDisplay(DataUrl { mime: self.mime, data: self.data })
    }
}

impl<'a> MessagePart<'a> {
    pub(super) fn of(content: &'a Content) -> Self {
        match content {
            Content::Text(text) => Self::Text(text),
            Content::Image(media) => Self::media(media, "image"),
            Content::Audio(media) => Self::media(media, "audio"),
            Content::Resource(resource) => Self::resource(resource),
            Content::ResourceLink(link) => Self::Link(link),
        }
    }

    fn media(media: &'a Media, what: &'static str) -> Self {
        Self::bytes(&media.mime_type, &media.data)
            .unwrap_or(Self::Unreadable { what, mime: &media.mime_type })
    }

    fn resource(resource: &'a ResourceContents) -> Self {
        let mime = resource.mime_type.as_deref().unwrap_or("application/octet-stream");
        let data = match (&resource.text, &resource.blob) {
            (Some(text), _) => return Self::Document { uri: &resource.uri, text },
            (None, blob) => blob.as_deref().unwrap_or_default(),
        };
        match Self::bytes(mime, data) {
            Some(piece) => piece,
            None if !data.is_empty() && mime.eq_ignore_ascii_case("application/pdf") => {
                // The services want a name with the right ending, not an address.
                let name = resource.uri.rsplit('/').next().filter(|name| is_pdf(name));
                let bytes = Base64Data { mime, data };
                Self::File { name: name.unwrap_or("document.pdf"), bytes }
            }
            None => Self::Unreadable { what: "document", mime },
        }
    }

    /// Returns the bytes if their type is in the guides on images and audio; with another type the
    /// whole request would be refused.
    fn bytes(mime: &'a str, data: &'a str) -> Option<Self> {
        let bytes = Base64Data { mime, data };
        if data.is_empty() {
            return None;
        }
        match mime.to_ascii_lowercase().as_str() {
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => Some(Self::Image(bytes)),
            "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => {
                Some(Self::Sound { format: "wav", bytes })
            }
            "audio/mpeg" | "audio/mp3" => Some(Self::Sound { format: "mp3", bytes }),
            _ => None,
        }
    }

    /// Returns `true` if it is empty; the services refuse blank text parts.
    pub(super) fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if text.trim().is_empty())
    }

    /// Returns the same part for a service that takes no audio.
    pub(super) fn without_sound(self) -> Self {
        match self {
            Self::Sound { bytes, .. } => Self::Unreadable { what: "audio", mime: bytes.mime },
            other => other,
        }
    }

    /// Returns `true` if it is more than text.
    pub(super) fn is_attachment(&self) -> bool {
        matches!(self, Self::Image(_) | Self::Sound { .. } | Self::File { .. })
    }
}

fn is_pdf(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("pdf"))
}

/// Writes a part as text: itself, or a placeholder.
impl fmt::Display for MessagePart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, mime) = match self {
            Self::Text(text) => return f.write_str(text),
            Self::Link(link) => return link.fmt(f),
            Self::Document { uri, text } => return write!(f, "[document {uri}]\n{text}"),
            Self::Unreadable { what, mime } => {
                return write!(f, "[{what} of type {mime}, which cannot be shown here]");
            }
            Self::Image(bytes) => ("image", bytes.mime),
            Self::Sound { bytes, .. } => ("audio", bytes.mime),
            Self::File { bytes, .. } => ("document", bytes.mime),
        };
        write!(f, "[{what} of type {mime}, which follows after the results]")
    }
}

/// The text of a result, with a placeholder for each part that is no text.
pub(super) struct ResultText<'a>(pub(super) &'a ToolResult);

impl Serialize for ResultText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.content() {
            [Content::Text(text)] if !text.is_empty() => serializer.serialize_str(text),
            // An empty result may still hold an underlying error.
            [] | [Content::Text(_)] => serializer.serialize_str(&self.0.text()),
            parts => serializer.collect_str(&ResultLines(parts)),
        }
    }
}

struct ResultLines<'a>(&'a [Content]);

impl fmt::Display for ResultLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, content) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            MessagePart::of(content).fmt(f)?;
        }
        Ok(())
    }
}

/// The program's own options in a body: each as it is, but never in place of the request's own
/// fields.
pub(super) struct ExtraOptions<'a>(pub(super) &'a Map<String, Value>);

impl ExtraOptions<'_> {
    /// Writes an entry that an option may replace, or omit with null.
    pub(super) fn default_entry<M: SerializeMap, T: Serialize + ?Sized>(
        &self,
        map: &mut M,
        key: &str,
        value: &T,
    ) -> Result<(), M::Error> {
        if self.0.contains_key(key) { Ok(()) } else { map.serialize_entry(key, value) }
    }

    /// Writes how a model may call tools, where that is not the service's default.
    pub(super) fn call_entries<M: SerializeMap>(
        &self,
        map: &mut M,
        choice: Option<Value>,
        parallel: bool,
    ) -> Result<(), M::Error> {
        if let Some(choice) = choice {
            self.default_entry(map, "tool_choice", &choice)?;
        }
        // Several calls are the default, and reasoning models refuse the field.
        if !parallel {
            self.default_entry(map, "parallel_tool_calls", &false)?;
        }
        Ok(())
    }

    /// Writes the options, except those that are null or in `reserved`.
    pub(super) fn write<M: SerializeMap>(
        &self,
        map: &mut M,
        reserved: impl Fn(&str) -> bool,
    ) -> Result<(), M::Error> {
        let options = self.0.iter().filter(|(key, value)| !value.is_null() && !reserved(key));
        for (key, value) in options {
            map.serialize_entry(key, value)?;
        }
        Ok(())
    }
}

/// Reads a document.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, WireError> {
    Ok(serde_json::from_str(text.trim_start_matches('\u{feff}'))?)
}

pub(super) fn invalid(what: impl Into<String>) -> WireError {
    WireError::Invalid(what.into())
}

/// Returns the failure that a document reports, under `error` or as a whole, if it reports one.
pub(super) fn reported(error: Option<&Value>) -> Option<WireError> {
    let error = error.filter(|error| !matches!(error, Value::Null | Value::Bool(false)))?;
    // A code in words is the most specific; a numeric code is less specific than the type.
    let in_words = error.get("code").is_some_and(Value::is_string);
    let words = if in_words { ["code", "type"] } else { ["type", "code"] };
    Some(service_error(error, &words))
}

/// Reads the token counts of a reply. Missing or invalid counts are zero: they are no reason to
/// lose a reply.
pub(super) fn usage(usage: Option<&Value>) -> Usage {
    let Some(usage) = usage else { return Usage::default() };
    let first = |paths: &[&str]| {
        paths
            .iter()
            .find_map(|path| usage.pointer(path).and_then(lenient::count_in))
            .unwrap_or_default()
    };
    Usage {
        input_tokens: first(&["/prompt_tokens", "/input_tokens"]),
        output_tokens: first(&["/completion_tokens", "/output_tokens"]),
        // The last two are the keys of DeepSeek and Moonshot.
        cache_read_input_tokens: first(&[
            "/prompt_tokens_details/cached_tokens",
            "/input_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
            "/cached_tokens",
        ]),
        cache_creation_input_tokens: first(&[
            "/prompt_tokens_details/cache_write_tokens",
            "/input_tokens_details/cache_write_tokens",
        ]),
        reasoning_tokens: first(&[
            "/completion_tokens_details/reasoning_tokens",
            "/output_tokens_details/reasoning_tokens",
        ]),
    }
}

/// Returns the finish of a reply with or without calls, where the service gives no reason.
pub(super) fn ended(calls: bool) -> Finish {
    if calls { Finish::Calls } else { Finish::Stop }
}

/// Returns the content of a data URL.
pub(super) fn from_data_url(url: &str) -> Option<Base64Data<'_>> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some(Base64Data { mime: head.strip_suffix(";base64")?, data })
}

/// Returns an image from its URL; a remote one becomes a text, since nothing is fetched here.
pub(super) fn image_at(url: &str) -> Content {
    match from_data_url(url) {
        Some(bytes) => Content::image_that_came(bytes.data.to_owned(), bytes.mime),
        None => Content::text(format!("[image at {url}]")),
    }
}

/// Returns the document of a file part.
pub(super) fn file_of(file: &Value) -> Content {
    let text = |key: &str| file.get(key).and_then(Value::as_str);
    match text("file_data").and_then(from_data_url) {
        Some(bytes) => Content::Resource(Box::new(ResourceContents {
            uri: text("filename").unwrap_or("document").to_owned(),
            mime_type: Some(bytes.mime.to_owned()),
            blob: Some(bytes.data.to_owned()),
            ..ResourceContents::default()
        })),
        None => {
            let name = text("file_id").or_else(|| text("file_url")).or_else(|| text("filename"));
            Content::text(format!("[document {}]", name.unwrap_or("without a name")))
        }
    }
}

/// Takes a field, if it is a text.
pub(super) fn take_text(value: &mut Value, key: &str) -> Option<String> {
    match value.get_mut(key)?.take() {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Adds instructions to those found before.
pub(super) fn add_system(system: &mut Option<String>, content: &[Content]) {
    let texts = content.iter().filter_map(Content::as_text);
    for text in texts.filter(|text| !text.trim().is_empty()) {
        match system {
            Some(system) => {
                system.push_str("\n\n");
                system.push_str(text);
            }
            None => *system = Some(text.to_owned()),
        }
    }
}
