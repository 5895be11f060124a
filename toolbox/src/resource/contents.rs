//! The contents of a resource.

use std::borrow::Cow;

use serde_json::Value;

use crate::call::{Content, FailureKind, IntoToolResult, Media, ResourceContents, ToolResult};

/// A value that a resource may return: text, bytes, JSON, contents, an `Option` or a `Result` of
/// one.
///
/// `None` means that there is no such resource. Contents without a URI get the one that was asked
/// for, those without a MIME type the one of the resource.
///
/// ```
/// use toolbox::resource;
///
/// /// The picture of a user.
/// #[resource("users://{name}/picture", mime_type = "image/png")]
/// fn picture(name: &str) -> Option<Vec<u8>> {
///     (name == "ada").then(|| b"\x89PNG".to_vec())
/// }
///
/// assert!(picture("bob").is_none());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the content of a resource",
    label = "a resource cannot return this",
    note = "return text (`String`), bytes (`Vec<u8>`), `serde_json::Value`, `ResourceContents`, a `Vec` of these contents, or an `Option` or `Result` of one",
    note = "for a type of your own, return `serde_json::to_value(value)`, or implement `toolbox::resource::IntoResourceContents`"
)]
pub trait IntoResourceContents {
    /// Returns the contents; `None` if there is no such resource.
    fn into_contents(self) -> Option<Vec<ResourceContents>>;
}

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl IntoResourceContents for $type {
            fn into_contents(self) -> Option<Vec<ResourceContents>> {
                Some(vec![ResourceContents::of_text(self)])
            }
        }
    )*};
}

texts!(String, &str, Box<str>, Cow<'_, str>);

macro_rules! bytes {
    ($($type:ty),*) => {$(
        impl IntoResourceContents for $type {
            fn into_contents(self) -> Option<Vec<ResourceContents>> {
                Some(vec![ResourceContents::of_bytes(&self)])
            }
        }
    )*};
}

bytes!(Vec<u8>, &[u8], Box<[u8]>, Cow<'_, [u8]>);

impl<const N: usize> IntoResourceContents for &[u8; N] {
    fn into_contents(self) -> Option<Vec<ResourceContents>> {
        self[..].into_contents()
    }
}

/// Text that is JSON, of the type `application/json`.
impl IntoResourceContents for Value {
    fn into_contents(self) -> Option<Vec<ResourceContents>> {
        let mut contents = ResourceContents::of_text(self.to_string());
        contents.mime_type = Some("application/json".to_owned());
        Some(vec![contents])
    }
}

impl IntoResourceContents for ResourceContents {
    fn into_contents(self) -> Option<Vec<ResourceContents>> {
        Some(vec![self])
    }
}

impl IntoResourceContents for Vec<ResourceContents> {
    fn into_contents(self) -> Option<Vec<ResourceContents>> {
        Some(self)
    }
}

impl<T: IntoResourceContents> IntoResourceContents for Option<T> {
    fn into_contents(self) -> Option<Vec<ResourceContents>> {
        self.and_then(T::into_contents)
    }
}

impl IntoToolResult for ResourceContents {
    fn into_tool_result(self) -> ToolResult {
        Content::from(self).into()
    }
}

impl IntoToolResult for Vec<ResourceContents> {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::from(self.into_iter().map(Content::from).collect::<Vec<_>>())
    }
}

/// Returns contents as the result of a call.
pub(crate) fn result_of(contents: Option<Vec<ResourceContents>>) -> ToolResult {
    match contents {
        Some(contents) if !contents.is_empty() => contents.into_tool_result(),
        _ => ToolResult::failure(FailureKind::NotFound, "there is no such resource"),
    }
}

/// Reads the contents of a result: each part is one.
pub(crate) fn contents_of(
    result: ToolResult,
    uri: &str,
    mime_type: Option<&str>,
) -> Vec<ResourceContents> {
    let of_media = |media: Media| {
        let (mime_type, blob) = (Some(media.mime_type), Some(media.data));
        ResourceContents { mime_type, blob, ..ResourceContents::default() }
    };
    let part = |part: Content| {
        let mut contents = match part {
            Content::Resource(contents) => *contents,
            Content::Text(text) => ResourceContents::of_text(text.into_string()),
            Content::Image(media) | Content::Audio(media) => of_media(*media),
            link @ Content::ResourceLink(_) => {
                ResourceContents::of_text(link.to_text().unwrap_or_default())
            }
        };
        if contents.uri.is_empty() {
            uri.clone_into(&mut contents.uri);
        }
        contents.mime_type = contents.mime_type.or_else(|| mime_type.map(str::to_owned));
        contents
    };
    result.into_content().into_iter().map(part).collect()
}
