//! A transcript as alternating turns of user and model: the form that Anthropic and both of Gemini
//! share.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::call::Content;
use crate::model::{Message, Part, Step};

/// The text in place of a missing message of the user: services refuse a message without text, and
/// a transcript without a user.
pub(super) const NOTHING_SAID: &str = "(no message)";

/// The keys that a request writes itself, under the names of every form: options of these names are
/// ignored.
pub(super) const RESERVED: [&str; 11] = [
    "model",
    "messages",
    "contents",
    "input",
    "system",
    "systemInstruction",
    "system_instruction",
    "instructions",
    "tools",
    "tool_choice",
    "stream",
];

/// One turn. No two of the same kind follow one another, and the first is the user's.
#[derive(Debug)]
pub(super) enum TranscriptTurn<'a> {
    /// The message of the user, without blank texts; may be empty.
    User(Vec<&'a Content>),
    /// The message of the model. Calls in it are all of one step, whose results come next.
    Model(Vec<&'a Part>),
    /// The results of the calls just before.
    Results(&'a Step),
}

/// Splits a transcript into turns.
///
/// `written` returns the parts of a step that are sent; a step without any is left out. Replies
/// that follow one another without a message in between become one turn, and so do messages of the
/// user.
pub(super) fn turns<'a>(
    messages: &'a [Message],
    written: impl Fn(&'a Step) -> Vec<&'a Part>,
) -> Vec<TranscriptTurn<'a>> {
    let mut turns = Vec::with_capacity(messages.len() + 1);
    for message in messages {
        match message {
            Message::User(content) => user(&mut turns, content),
            Message::Step(step) => {
                let parts = written(step);
                if parts.is_empty() {
                    continue;
                }
                match turns.last_mut() {
                    Some(TranscriptTurn::Model(before)) => before.extend(parts),
                    last => {
                        if last.is_none() {
                            turns.push(TranscriptTurn::User(Vec::new()));
                        }
                        turns.push(TranscriptTurn::Model(parts));
                    }
                }
                if !step.results().is_empty() {
                    turns.push(TranscriptTurn::Results(step));
                }
            }
        }
    }
    if turns.is_empty() {
        turns.push(TranscriptTurn::User(Vec::new()));
    }
    turns
}

fn user<'a>(turns: &mut Vec<TranscriptTurn<'a>>, content: &'a [Content]) {
    let texts = content.iter().filter(|part| !is_blank(part));
    match turns.last_mut() {
        Some(TranscriptTurn::User(before)) => before.extend(texts),
        last => {
            let texts: Vec<_> = texts.collect();
            // After results a blank message adds nothing, since the results are the user's turn
            // already.
            if !texts.is_empty() || !matches!(last, Some(TranscriptTurn::Results(_))) {
                turns.push(TranscriptTurn::User(texts));
            }
        }
    }
}

/// Returns `true` if a part is text that holds nothing but blanks.
pub(super) fn is_blank(content: &Content) -> bool {
    content.as_text().is_some_and(|text| text.trim().is_empty())
}

/// Text to send: the text itself, or a placeholder for a part that cannot be sent.
#[derive(Debug, Clone)]
pub(super) enum PartText<'a> {
    /// Text as it is.
    Plain(Cow<'a, str>),
    /// The placeholder of a part.
    Of(&'a Content),
}

impl<'a> From<&'a str> for PartText<'a> {
    fn from(text: &'a str) -> Self {
        Self::Plain(Cow::Borrowed(text))
    }
}

impl fmt::Display for PartText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => f.write_str(text),
            Self::Of(Content::Text(text)) => f.write_str(text),
            Self::Of(Content::Image(media)) => unshown(f, "image", &media.mime_type, &media.data),
            Self::Of(Content::Audio(media)) => unshown(f, "audio", &media.mime_type, &media.data),
            Self::Of(Content::ResourceLink(link)) => link.fmt(f),
            Self::Of(Content::Resource(resource)) => {
                let uri = &resource.uri;
                match (&resource.text, &resource.blob) {
                    (Some(text), _) => write!(f, "[{uri}]\n{text}"),
                    (None, Some(blob)) => {
                        let mime = resource.mime_type.as_deref().unwrap_or("unknown");
                        write!(f, "[{uri}] ")?;
                        unshown(f, "document", mime, blob)
                    }
                    (None, None) => write!(f, "[{uri}]"),
                }
            }
        }
    }
}

fn unshown(f: &mut fmt::Formatter<'_>, what: &str, mime: &str, data: &str) -> fmt::Result {
    let bytes = data.trim_end_matches('=').len() / 4 * 3
        + (data.trim_end_matches('=').len() % 4).saturating_sub(1);
    write!(f, "[{what} of type {mime}, {bytes} bytes: it cannot be shown here]")
}

impl Serialize for PartText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(text) => serializer.serialize_str(text),
            Self::Of(Content::Text(text)) => serializer.serialize_str(text),
            // Written piecewise into the request, so that a large document is not assembled
            // beforehand.
            Self::Of(_) => serializer.collect_str(self),
        }
    }
}

/// Returns the part's MIME type and base64, if it is made of bytes.
pub(super) fn bytes(content: &Content) -> Option<(&str, &str)> {
    let (mime, data) = match content {
        Content::Image(media) | Content::Audio(media) => (media.mime_type.as_str(), &media.data),
        Content::Resource(resource) if resource.text.is_none() => {
            (resource.mime_type.as_deref()?, resource.blob.as_ref()?)
        }
        Content::Text(_) | Content::Resource(_) | Content::ResourceLink(_) => return None,
    };
    let mime = if mime == "image/jpg" { "image/jpeg" } else { mime };
    (!data.is_empty()).then_some((mime, data))
}
