//! Bytes that another program wrote as base64, brought into the form that every service takes.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::base64;
use super::{Content, Media, ResourceContents};

impl Content {
    /// Returns an image that another program wrote, or a note that it is none.
    pub(crate) fn image_that_came(data: String, mime_type: &str) -> Self {
        media("image", Self::Image, data, mime_type)
    }

    /// Returns a sound that another program wrote, or a note that it is none.
    pub(crate) fn audio_that_came(data: String, mime_type: &str) -> Self {
        media("audio", Self::Audio, data, mime_type)
    }
}

/// Takes base64 that another program wrote: as a `data:` URL, with line breaks, in the URL-safe
/// alphabet or without padding it is mended, because a service refuses the whole request, and each
/// one after it.
fn media(what: &str, of: fn(Box<Media>) -> Content, data: String, mime_type: &str) -> Content {
    match base64::mended(&data) {
        Ok((mended, mime_of_url)) => {
            let is_named = !mime_type.trim().is_empty();
            let mime_type = mime_of_url.filter(|_| !is_named).unwrap_or(mime_type).to_owned();
            of(Box::new(Media::of_base64(mended.unwrap_or(data), &mime_type)))
        }
        Err(error) => {
            let mime_type = crate::text::quote(mime_type, 100);
            Content::text(format!("[{what} of type {mime_type}, which cannot be shown: {error}]"))
        }
    }
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

/// A document that another program wrote.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceThatCame {
    uri: String,
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
    #[serde(rename = "_meta")]
    meta: Option<Map<String, Value>>,
}

impl From<ResourceThatCame> for ResourceContents {
    /// Mends the bytes of a document; what is no base64 becomes a text that says so.
    fn from(came: ResourceThatCame) -> Self {
        let ResourceThatCame { uri, mime_type, mut text, blob, meta } = came;
        let blob = blob.and_then(|blob| match base64::mended(&blob) {
            Ok((mended, _)) => Some(mended.unwrap_or(blob)),
            Err(error) => {
                text.get_or_insert_with(|| {
                    let kind = mime_type.as_deref().unwrap_or_default();
                    let of_type = if kind.is_empty() {
                        String::new()
                    } else {
                        format!(" of type {}", crate::text::quote(kind, 100))
                    };
                    format!("[a document{of_type}, which cannot be shown: {error}]")
                });
                None
            }
        });
        Self { uri, mime_type, text, blob, meta, ..Self::default() }
    }
}
