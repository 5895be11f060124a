//! The parts a result is made of: text, images, audio, resources, links to resources.

mod annotations;
mod arrived;
mod base64;
mod link;

use std::borrow::{Borrow, Cow};
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub(crate) use annotations::Attributes;
pub use annotations::{ContentAnnotations, Role};
use arrived::usual_mime;
pub use base64::InvalidBase64Error;
use link::LinkIn;
pub use link::ResourceLink;

/// One part of a tool's result, in the terms of the Model Context Protocol.
///
/// Each may carry [annotations](Content::with_annotations) and [`_meta`](Content::with_meta) for
/// MCP clients; models read neither.
///
/// ```
/// use toolbox::{tool, Content};
///
/// /// Draws a chart.
/// #[tool]
/// fn chart(title: &str) -> Vec<Content> {
///     let svg = format!("<svg><title>{title}</title></svg>");
///     vec![Content::text("The chart:"), Content::resource_text("chart://1", "image/svg+xml", svg)]
/// }
///
/// assert_eq!(chart("Rain").len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Text for the model.
    Text(Text),
    /// An image.
    Image(Box<Media>),
    /// A sound.
    Audio(Box<Media>),
    /// A document, with its text or its bytes.
    Resource(Box<ResourceContents>),
    /// A link to a document that the client can read by itself.
    ResourceLink(Box<ResourceLink>),
}

/// The text of a text part; dereferences to `str`.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    text: String,
    pub(crate) attributes: Attributes,
}

/// Bytes of a kind that a MIME type names.
///
/// Made by [`Media::from_bytes`] of raw bytes, or by [`Media::from_base64`] of text that is encoded
/// already.
///
/// ```
/// use toolbox::call::Media;
///
/// let picture = Media::from_bytes([0xff_u8, 0xd8, 0xff].as_slice(), "image/jpeg");
/// assert_eq!((picture.data.as_str(), picture.mime_type.as_str()), ("/9j/", "image/jpeg"));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Media {
    /// The bytes, in standard base64 with padding.
    pub data: String,
    /// The MIME type, such as `image/png`: in lower case, without parameters, and `image/jpg` by
    /// its usual name, `image/jpeg`.
    pub mime_type: String,
    pub(crate) attributes: Attributes,
}

/// A document that a result carries along.
///
/// ```
/// use toolbox::Content;
///
/// let page = Content::resource_text("docs://intro", "text/markdown", "# Welcome");
/// let Content::Resource(page) = page else { panic!("a document is a resource") };
/// assert_eq!((page.uri.as_str(), page.text.as_deref()), ("docs://intro", Some("# Welcome")));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "arrived::ResourceThatCame")]
#[non_exhaustive]
pub struct ResourceContents {
    /// The URI of the resource, such as `file:///notes.md`.
    pub uri: String,
    /// The MIME type, such as `text/markdown`, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its text, when it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in base64, when it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// The `_meta` of the document itself, beside that of the [part](Content::meta).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
    #[serde(skip)]
    pub(crate) attributes: Attributes,
}

impl ResourceContents {
    /// Returns text without a URI, which is that of the resource then.
    pub fn of_text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Returns bytes without a URI, which is that of the resource then.
    #[allow(clippy::needless_pass_by_value, reason = "a `Vec` is as welcome as a slice")]
    pub fn of_bytes<M>(bytes: impl RawBytes<M>) -> Self {
        Self { blob: Some(base64::encode(bytes.raw_bytes())), ..Self::default() }
    }

    /// Returns the bytes, whether they are text or base64; `None` if they are neither.
    #[allow(dead_code, reason = "for mounted servers")]
    pub(crate) fn raw_bytes(&self) -> Option<Cow<'_, [u8]>> {
        match (&self.text, &self.blob) {
            (Some(text), None) => Some(Cow::Borrowed(text.as_bytes())),
            (None, Some(blob)) => base64::decode(blob).ok().map(Cow::Owned),
            _ => None,
        }
    }

    /// Sets the URI.
    #[must_use]
    pub fn with_uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = uri.into();
        self
    }

    /// Sets the MIME type, such as `text/markdown`.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }
}

impl Text {
    /// Returns the text alone.
    #[must_use]
    #[inline]
    pub fn into_string(self) -> String {
        self.text
    }

    /// Changes the text in place.
    pub(crate) fn edit(&mut self, edit: impl FnOnce(&mut String)) {
        edit(&mut self.text);
    }
}

impl Deref for Text {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<String> for Text {
    #[inline]
    fn from(text: String) -> Self {
        Self { text, attributes: Attributes::default() }
    }
}

impl Media {
    /// Returns media from its base64.
    fn of_base64(data: String, mime_type: &str) -> Self {
        Self { data, mime_type: usual_mime(mime_type), attributes: Attributes::default() }
    }
}

impl Content {
    /// Returns a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text::from(text.into()))
    }

    /// Returns an image part from its raw bytes, such as the content of a file.
    ///
    /// Text that is base64 already is refused by the compiler: it goes to
    /// [`image_base64`](Self::image_base64).
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
    /// # Ok::<(), toolbox::call::InvalidBase64Error>(())
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
        Self::Resource(Box::new(ResourceContents {
            uri: uri.into(),
            mime_type: Some(mime_type.into()),
            text: Some(text.into()),
            ..ResourceContents::default()
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

    fn resource_blob(uri: String, Media { data, mime_type, .. }: Media) -> Self {
        let (mime_type, blob) = (Some(mime_type), Some(data));
        Self::Resource(Box::new(ResourceContents {
            uri,
            mime_type,
            blob,
            ..ResourceContents::default()
        }))
    }

    /// Returns a link to a document that the client can read by itself.
    pub fn resource_link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        ResourceLink::new(uri, name).into()
    }

    /// Sets the hints for the client that receives the part.
    #[must_use]
    pub fn with_annotations(mut self, annotations: ContentAnnotations) -> Self {
        self.attributes_mut().set_annotations(annotations);
        self
    }

    /// Adds an entry to the `_meta` of the part, such as `com.example/page`.
    #[must_use]
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.attributes_mut().insert_meta(key.into(), value.into());
        self
    }

    /// Returns the hints for the client that receives the part.
    #[must_use]
    pub fn annotations(&self) -> Option<&ContentAnnotations> {
        self.attributes().annotations()
    }

    /// Returns the `_meta` of the part.
    #[must_use]
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.attributes().meta()
    }

    pub(crate) fn attributes(&self) -> &Attributes {
        match self {
            Self::Text(text) => &text.attributes,
            Self::Image(media) | Self::Audio(media) => &media.attributes,
            Self::Resource(resource) => &resource.attributes,
            Self::ResourceLink(link) => &link.attributes,
        }
    }

    pub(crate) fn attributes_mut(&mut self) -> &mut Attributes {
        match self {
            Self::Text(text) => &mut text.attributes,
            Self::Image(media) | Self::Audio(media) => &mut media.attributes,
            Self::Resource(resource) => &mut resource.attributes,
            Self::ResourceLink(link) => &mut link.attributes,
        }
    }

    /// Returns the part as text for a model, where only text is allowed: the text of a text part,
    /// or the line of a link.
    #[must_use]
    pub fn to_text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::ResourceLink(link) => Some(Cow::Owned(link.to_string())),
            Self::Image(_) | Self::Audio(_) | Self::Resource(_) => None,
        }
    }

    /// Returns the text of a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number of bytes in the part, as it would be sent.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Image(media) | Self::Audio(media) => media.data.len(),
            Self::Resource(resource) => {
                resource.text.as_ref().or(resource.blob.as_ref()).map_or(0, String::len)
            }
            Self::ResourceLink(link) => {
                let texts = [&link.title, &link.description, &link.mime_type];
                let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
                link.uri.len() + link.name.len() + texts
            }
        }
    }

    /// Returns `true` if the part is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Media {
    /// Encodes raw bytes, such as the content of a file.
    #[allow(clippy::needless_pass_by_value, reason = "a `Vec` is as welcome as a slice")]
    pub fn from_bytes<M>(bytes: impl RawBytes<M>, mime_type: impl Into<String>) -> Self {
        Self::of_base64(base64::encode(bytes.raw_bytes()), &mime_type.into())
    }

    /// Takes text that is base64 already, and keeps it as it is.
    ///
    /// # Errors
    ///
    /// The text is not standard base64 with padding. URL-safe and unpadded base64, line breaks and
    /// `data:` URLs are refused, because services that read the text refuse them as well.
    pub fn from_base64(
        base64: impl Into<String>,
        mime_type: impl Into<String>,
    ) -> Result<Self, InvalidBase64Error> {
        let data = base64.into();
        base64::check(&data)?;
        Ok(Self::of_base64(data, &mime_type.into()))
    }

    /// Returns the bytes; `None` if the data is not base64.
    #[allow(dead_code, reason = "for the program")]
    pub(crate) fn raw_bytes(&self) -> Option<Vec<u8>> {
        base64::decode(&self.data).ok()
    }
}

/// Bytes that are not encoded yet: `Vec<u8>`, `&[u8]`, `[u8; N]`, `Box<[u8]>`, `Bytes`, references
/// to them, and everything else that implements `Borrow<[u8]>`.
///
/// Text does not: base64 in a `String` would be encoded twice. The parameter `M` tells values from
/// references, and is always inferred.
///
/// ```
/// use toolbox::Content;
///
/// let pixel: Vec<u8> = vec![0x47, 0x49, 0x46];
/// assert_eq!(Content::image(pixel.clone(), "image/gif"), Content::image(&pixel[..], "image/gif"));
/// ```
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
        Self::Text(text.into())
    }
}

impl From<ResourceContents> for Content {
    fn from(contents: ResourceContents) -> Self {
        Self::Resource(Box::new(contents))
    }
}

impl From<ResourceLink> for Content {
    fn from(link: ResourceLink) -> Self {
        Self::ResourceLink(Box::new(link))
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct MediaOut<'a> {
            data: &'a str,
            mime_type: &'a str,
        }
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum ContentKind<'a> {
            Text { text: &'a str },
            Image(MediaOut<'a>),
            Audio(MediaOut<'a>),
            Resource { resource: &'a ResourceContents },
            ResourceLink(&'a ResourceLink),
        }
        #[derive(Serialize)]
        struct Out<'a> {
            #[serde(flatten)]
            kind: ContentKind<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            annotations: Option<&'a ContentAnnotations>,
            #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
            meta: Option<&'a Map<String, Value>>,
        }
        let kind = match self {
            Self::Text(text) => ContentKind::Text { text },
            Self::Image(media) => {
                ContentKind::Image(MediaOut { data: &media.data, mime_type: &media.mime_type })
            }
            Self::Audio(media) => {
                ContentKind::Audio(MediaOut { data: &media.data, mime_type: &media.mime_type })
            }
            Self::Resource(resource) => ContentKind::Resource { resource },
            Self::ResourceLink(link) => ContentKind::ResourceLink(link),
        };
        Out { kind, annotations: self.annotations(), meta: self.meta() }.serialize(serializer)
    }
}

/// Annotations and `_meta` that do not follow the protocol are left out, and the part stays. Base64
/// of another form is mended; an image or a sound that is no base64 becomes a text that says so.
impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum ContentKind {
            Text(In<TextIn>),
            Image(In<MediaIn>),
            Audio(In<MediaIn>),
            Resource(In<ResourceIn>),
            ResourceLink(LinkIn),
        }
        #[derive(Deserialize)]
        struct In<T> {
            #[serde(flatten)]
            own: T,
            #[serde(default)]
            annotations: Option<Value>,
            #[serde(default, rename = "_meta")]
            meta: Option<Value>,
        }
        #[derive(Deserialize)]
        struct TextIn {
            text: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct MediaIn {
            data: String,
            mime_type: String,
        }
        #[derive(Deserialize)]
        struct ResourceIn {
            resource: ResourceContents,
        }
        impl<T> In<T> {
            fn attributes(&self) -> Attributes {
                Attributes::read(self.annotations.as_ref(), self.meta.as_ref())
            }
        }
        let with = |mut content: Self, attributes: Attributes| {
            match &mut content {
                Self::Image(media) | Self::Audio(media) => media.attributes = attributes,
                Self::Text(text) => text.attributes = attributes,
                Self::Resource(_) | Self::ResourceLink(_) => {}
            }
            content
        };
        Ok(match ContentKind::deserialize(deserializer)? {
            ContentKind::Text(read) => {
                let attributes = read.attributes();
                Self::Text(Text { text: read.own.text, attributes })
            }
            ContentKind::Image(read) => {
                let attributes = read.attributes();
                with(Self::image_that_came(read.own.data, &read.own.mime_type), attributes)
            }
            ContentKind::Audio(read) => {
                let attributes = read.attributes();
                with(Self::audio_that_came(read.own.data, &read.own.mime_type), attributes)
            }
            ContentKind::Resource(read) => {
                let attributes = read.attributes();
                Self::Resource(Box::new(ResourceContents { attributes, ..read.own.resource }))
            }
            ContentKind::ResourceLink(read) => Self::ResourceLink(Box::new(read.into())),
        })
    }
}
