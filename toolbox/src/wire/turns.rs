//! A transcript as user and model speak by turns: the form that Anthropic and Gemini share.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::call::Content;
use crate::model::{History, Message, Part, Step};

/// What stands where the user said nothing: services refuse a message without text, and a transcript without a user.
pub(super) const NOTHING_SAID: &str = "(no message)";

/// What a request says itself, under the names of every form: an option of such a name is not looked at.
pub(super) const RESERVED: [&str; 10] = [
    "model",
    "messages",
    "contents",
    "input",
    "system",
    "systemInstruction",
    "instructions",
    "tools",
    "tool_choice",
    "stream",
];

/// One turn. No two of the same kind follow one another, and the first is the user's.
#[derive(Debug)]
pub(super) enum Turn<'a> {
    /// What the user said, without blank texts; may be nothing.
    User(Vec<&'a Content>),
    /// What the model said. Calls in it are all of one step, whose results come next.
    Model(Vec<&'a Part>),
    /// The results of the calls just before.
    Results(&'a Step),
}

/// Puts a transcript into turns.
///
/// `written` says which parts of a step the service is sent; a step without any is left out. Replies that follow one
/// another without a word in between become one turn, and so do messages of the user.
pub(super) fn turns<'a>(
    history: &'a History,
    written: impl Fn(&'a Step) -> Vec<&'a Part>,
) -> Vec<Turn<'a>> {
    let mut turns = Vec::with_capacity(history.len() + 1);
    for message in history.messages() {
        match message {
            Message::User(content) => user(&mut turns, content),
            Message::Step(step) => {
                let parts = written(step);
                if parts.is_empty() {
                    continue;
                }
                match turns.last_mut() {
                    Some(Turn::Model(before)) => before.extend(parts),
                    last => {
                        if last.is_none() {
                            turns.push(Turn::User(Vec::new()));
                        }
                        turns.push(Turn::Model(parts));
                    }
                }
                if !step.results().is_empty() {
                    turns.push(Turn::Results(step));
                }
            }
        }
    }
    if turns.is_empty() {
        turns.push(Turn::User(Vec::new()));
    }
    turns
}

fn user<'a>(turns: &mut Vec<Turn<'a>>, content: &'a [Content]) {
    let said = content.iter().filter(|part| !is_blank(part));
    match turns.last_mut() {
        Some(Turn::User(before)) => before.extend(said),
        last => {
            let said: Vec<_> = said.collect();
            // After results a blank message adds nothing, since the results are the user's turn already.
            if !said.is_empty() || !matches!(last, Some(Turn::Results(_))) {
                turns.push(Turn::User(said));
            }
        }
    }
}

/// Whether a part is text that holds nothing but blanks.
pub(super) fn is_blank(content: &Content) -> bool {
    content.as_text().is_some_and(|text| text.trim().is_empty())
}

/// Text to send: somebody's own, or words in the place of something that cannot be sent as it is.
#[derive(Debug, Clone)]
pub(super) enum Words<'a> {
    /// Text as it is.
    Plain(Cow<'a, str>),
    /// What there is to say of a part.
    Of(&'a Content),
}

impl<'a> From<&'a str> for Words<'a> {
    fn from(text: &'a str) -> Self {
        Self::Plain(Cow::Borrowed(text))
    }
}

impl fmt::Display for Words<'_> {
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

impl Serialize for Words<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(text) => serializer.serialize_str(text),
            Self::Of(Content::Text(text)) => serializer.serialize_str(text),
            // Written piece by piece into the request, so that a large document is not put together beforehand.
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
