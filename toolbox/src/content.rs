//! The parts a result is made of: text, images, audio, resources.

mod base64;

use std::borrow::Borrow;

pub use base64::InvalidBase64Error;
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
///
/// Made by [`Media::from_bytes`] of raw bytes, or by [`Media::from_base64`] of text that is encoded already.
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

    /// Returns an image part from its raw bytes, such as the content of a file.
    ///
    /// Text that is base64 already is refused by the compiler: it goes to [`image_base64`](Self::image_base64).
    ///
    /// ```
    /// let image = toolbox::Content::image(b"\x89PNG", "image/png");
    /// assert_eq!(serde_json::to_value(image)?["data"], "iVBORw==");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn image<M>(bytes: impl RawBytes<M>, mime_type: impl Into<String>) -> Self {
        Self::Image(Box::new(Media::from_bytes(bytes, mime_type)))
    }

    /// Returns an image part from text that is base64 already.
    ///
    /// ```
    /// use toolbox::Content;
    ///
    /// let image = Content::image_base64("iVBORw==", "image/png")?;
    /// assert_eq!(image, Content::image(b"\x89PNG", "image/png"));
    /// assert!(Content::image_base64("data:image/png;base64,iVBORw==", "image/png").is_err());
    /// # Ok::<(), toolbox::InvalidBase64Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text is not standard base64 with padding (RFC 4648, section 4).
    pub fn image_base64(
        base64: impl Into<String>,
        mime_type: impl Into<String>,
    ) -> Result<Self, InvalidBase64Error> {
        Media::from_base64(base64, mime_type).map(|media| Self::Image(Box::new(media)))
    }

    /// Returns an audio part from its raw bytes.
    pub fn audio<M>(bytes: impl RawBytes<M>, mime_type: impl Into<String>) -> Self {
        Self::Audio(Box::new(Media::from_bytes(bytes, mime_type)))
    }

    /// Returns an audio part from text that is base64 already.
    ///
    /// # Errors
    ///
    /// The text is not standard base64 with padding.
    pub fn audio_base64(
        base64: impl Into<String>,
        mime_type: impl Into<String>,
    ) -> Result<Self, InvalidBase64Error> {
        Media::from_base64(base64, mime_type).map(|media| Self::Audio(Box::new(media)))
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

    /// Returns a part with a document's raw bytes.
    pub fn resource_bytes<M>(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl RawBytes<M>,
    ) -> Self {
        Self::resource_blob(uri.into(), Media::from_bytes(bytes, mime_type))
    }

    /// Returns a part with a document's bytes from text that is base64 already.
    ///
    /// # Errors
    ///
    /// The text is not standard base64 with padding.
    pub fn resource_base64(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        base64: impl Into<String>,
    ) -> Result<Self, InvalidBase64Error> {
        Media::from_base64(base64, mime_type).map(|media| Self::resource_blob(uri.into(), media))
    }

    fn resource_blob(uri: String, Media { data, mime_type }: Media) -> Self {
        let mime_type = Some(mime_type);
        Self::Resource(Box::new(Resource { uri, mime_type, text: None, blob: Some(data) }))
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

impl Media {
    /// Encodes raw bytes, such as the content of a file.
    #[allow(clippy::needless_pass_by_value, reason = "a `Vec` is as welcome as a slice")]
    pub fn from_bytes<M>(bytes: impl RawBytes<M>, mime_type: impl Into<String>) -> Self {
        Self { data: base64::encode(bytes.raw_bytes()), mime_type: mime_type.into() }
    }

    /// Takes text that is base64 already, and keeps it as it is.
    ///
    /// # Errors
    ///
    /// The text is not standard base64 with padding. URL-safe and unpadded base64, line breaks and `data:` URLs are refused,
    /// because services that read the text refuse them as well.
    pub fn from_base64(
        base64: impl Into<String>,
        mime_type: impl Into<String>,
    ) -> Result<Self, InvalidBase64Error> {
        let data = base64.into();
        base64::check(&data)?;
        Ok(Self { data, mime_type: mime_type.into() })
    }
}

/// Bytes that are not encoded yet: `Vec<u8>`, `&[u8]`, `[u8; N]`, `Box<[u8]>`, `Bytes`, references to them, and whatever
/// else implements `Borrow<[u8]>`.
///
/// Text does not: base64 in a `String` would be encoded twice. The parameter `M` tells values from references, and is
/// always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not raw bytes",
    label = "expected raw bytes, such as `Vec<u8>`, `&[u8]` or `Bytes`",
    note = "text that is base64 already goes to `image_base64`, `audio_base64`, `resource_base64` or `Media::from_base64`",
    note = "for other types of bytes, pass a slice: `&bytes[..]`"
)]
pub trait RawBytes<M> {
    /// Returns the bytes.
    fn raw_bytes(&self) -> &[u8];
}

#[diagnostic::do_not_recommend]
impl<T: Borrow<[u8]>> RawBytes<[u8; 0]> for T {
    fn raw_bytes(&self) -> &[u8] {
        self.borrow()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Borrow<[u8]>> RawBytes<&[u8; 0]> for &T {
    fn raw_bytes(&self) -> &[u8] {
        T::borrow(self)
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
