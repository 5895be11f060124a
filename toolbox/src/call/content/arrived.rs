//! Bytes that another program wrote as base64, brought into the form that every service takes.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};

use super::base64::{self, InvalidBase64Error};
use super::{Content, Media};

impl Media {
    /// Takes base64 that another program wrote: as a `data:` URL, with line breaks, in the URL-safe
    /// alphabet or without padding it is mended, because a service refuses the whole request, and
    /// each one after it.
    pub(crate) fn arrived(data: String, mime_type: &str) -> Result<Self, InvalidBase64Error> {
        let (mended, mime_of_url) = base64::mended(&data)?;
        let mime_type = match mime_type.trim() {
            "" => mime_of_url.unwrap_or_default().to_owned(),
            mime_type => mime_type.to_owned(),
        };
        let mended = match mended {
            Cow::Owned(mended) => Some(mended),
            Cow::Borrowed(_) => None,
        };
        Ok(Self::of_base64(mended.unwrap_or(data), &mime_type))
    }
}

impl Content {
    /// Returns an image that another program wrote, or a note that it is none.
    pub(crate) fn image_that_came(data: String, mime_type: &str) -> Self {
        match Media::arrived(data, mime_type) {
            Ok(media) => Self::Image(Box::new(media)),
            Err(error) => unread("image", mime_type, &error),
        }
    }

    /// Returns a sound that another program wrote, or a note that it is none.
    pub(crate) fn audio_that_came(data: String, mime_type: &str) -> Self {
        match Media::arrived(data, mime_type) {
            Ok(media) => Self::Audio(Box::new(media)),
            Err(error) => unread("audio", mime_type, &error),
        }
    }
}

fn unread(what: &str, mime_type: &str, error: &InvalidBase64Error) -> Content {
    let mime_type = crate::text::quote(mime_type, 100);
    Content::text(format!("[{what} of type {mime_type}, which cannot be shown: {error}]"))
}

/// Returns a MIME type as the services write it: in lower case, without parameters, and
/// `image/jpeg` under its own name.
pub(super) fn usual_mime(mime_type: &str) -> String {
    let (kind, _) = mime_type.split_once(';').unwrap_or((mime_type, ""));
    match kind.trim().to_ascii_lowercase().as_str() {
        "image/jpg" | "image/pjpeg" => "image/jpeg".to_owned(),
        "image/x-png" => "image/png".to_owned(),
        kind => kind.to_owned(),
    }
}

/// Reads the bytes of a document, mended; what is no base64 stays, for its reader to refuse.
pub(super) fn blob<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let Some(blob) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    Ok(Some(match base64::mended(&blob) {
        Ok((Cow::Owned(mended), _)) => mended,
        Ok((Cow::Borrowed(_), _)) | Err(_) => blob,
    }))
}
