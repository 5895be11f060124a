//! The parts a result is made of: text, images, audio, resources.

use serde::{Deserialize, Deserializer, Serialize};

/// One part of a tool's result, in the terms of the Model Context Protocol.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Content {
    /// Text for the model.
    #[serde(serialize_with = "text_field")]
    Text(String),
    /// An image.
    Image(Box<Media>),
    /// A sound.
    Audio(Box<Media>),
    /// A document, with its text or its bytes.
    #[serde(serialize_with = "resource_field")]
    Resource(Box<Resource>),
}

/// Bytes of a kind that a MIME type names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Media {
    /// The bytes, in standard base64 with padding.
    pub data: String,
    /// Such as `image/png`.
    pub mime_type: String,
}

/// A document that a result carries along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resource {
    /// Where it is from, such as `file:///notes.md`.
    pub uri: String,
    /// Such as `text/markdown`, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its text, when it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in base64, when it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

impl Content {
    /// Returns a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Returns an image part from its raw bytes.
    ///
    /// ```
    /// let image = toolbox::Content::image(b"\x89PNG", "image/png");
    /// assert_eq!(serde_json::to_value(image)?["data"], "iVBORw==");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn image(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::Image(Box::new(Media { data: base64(bytes.as_ref()), mime_type: mime_type.into() }))
    }

    /// Returns an audio part from its raw bytes.
    pub fn audio(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::Audio(Box::new(Media { data: base64(bytes.as_ref()), mime_type: mime_type.into() }))
    }

    /// Returns a part with a document's text.
    pub fn resource_text(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self::Resource(Box::new(Resource {
            uri: uri.into(),
            mime_type: Some(mime_type.into()),
            text: Some(text.into()),
            blob: None,
        }))
    }

    /// Returns a part with a document's bytes.
    pub fn resource_bytes(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl AsRef<[u8]>,
    ) -> Self {
        Self::Resource(Box::new(Resource {
            uri: uri.into(),
            mime_type: Some(mime_type.into()),
            text: None,
            blob: Some(base64(bytes.as_ref())),
        }))
    }

    /// Returns the text of a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns how many bytes the part holds, as it would be sent.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Image(media) | Self::Audio(media) => media.data.len(),
            Self::Resource(resource) => {
                resource.text.as_ref().or(resource.blob.as_ref()).map_or(0, String::len)
            }
        }
    }

    /// Returns whether the part holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Wire {
            Text { text: String },
            Image(Media),
            Audio(Media),
            Resource { resource: Resource },
        }
        Ok(match Wire::deserialize(deserializer)? {
            Wire::Text { text } => Self::Text(text),
            Wire::Image(media) => Self::Image(Box::new(media)),
            Wire::Audio(media) => Self::Audio(Box::new(media)),
            Wire::Resource { resource } => Self::Resource(Box::new(resource)),
        })
    }
}

fn text_field<S: serde::Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Field<'a> {
        text: &'a str,
    }
    Field { text }.serialize(serializer)
}

fn resource_field<S: serde::Serializer>(
    resource: &Resource,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Field<'a> {
        resource: &'a Resource,
    }
    Field { resource }.serialize(serializer)
}

/// Writes bytes in the standard base64 alphabet, padded.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |group, &byte| group << 8 | u32::from(byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = (group >> (18 - 6 * place)) & 0x3f;
            text.push(if place > chunk.len() { '=' } else { char::from(ALPHABET[digit as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_matches_rfc_4648() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(super::base64(bytes.as_bytes()), expected);
        }
    }
}
