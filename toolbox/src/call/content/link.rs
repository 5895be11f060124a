//! Links to resources that the client can read.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::annotations::Attributes;
use crate::definition::Icon;

/// A link to a resource that the client can read by itself.
///
/// MCP clients get it as `resource_link`. A model reads one line of text:
/// `[resource] uri - name - description`.
///
/// ```
/// use toolbox::{Content, ToolResult};
/// use toolbox::call::ResourceLink;
///
/// let link = ResourceLink::new("file:///reports/7.pdf", "7.pdf")
///     .with_description("The report of July")
///     .with_mime_type("application/pdf")
///     .with_size(52_114);
/// let result = ToolResult::from(Content::from(link));
/// assert_eq!(
///     result.text(),
///     "[resource] file:///reports/7.pdf - 7.pdf - The report of July \
///      (application/pdf, 52114 bytes)",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceLink {
    /// The URI to read it by.
    pub uri: String,
    /// The name, for programs.
    pub name: String,
    /// The name, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description, also for models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The MIME type, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The size of the resource in bytes, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Icons to display beside it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    #[serde(skip)]
    pub(crate) attributes: Attributes,
}

impl ResourceLink {
    /// Returns a link by its URI and a name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            icons: Vec::new(),
            attributes: Attributes::default(),
        }
    }

    /// Sets the name for people.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the MIME type.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the size in bytes.
    #[must_use]
    pub fn with_size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Adds an icon.
    #[must_use]
    pub fn with_icon(mut self, icon: Icon) -> Self {
        self.icons.push(icon);
        self
    }
}

/// The line that a model reads. Line breaks become blanks, so that no name looks like the text
/// around it.
impl fmt::Display for ResourceLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |text: &str| text.replace(['\n', '\r'], " ");
        write!(f, "[resource] {}", line(&self.uri))?;
        let name = self.title.as_ref().unwrap_or(&self.name);
        for text in [Some(name), self.description.as_ref()].into_iter().flatten() {
            if !text.is_empty() {
                write!(f, " - {}", line(text))?;
            }
        }
        match (&self.mime_type, self.size) {
            (Some(mime), Some(size)) => write!(f, " ({}, {size} bytes)", line(mime)),
            (Some(mime), None) => write!(f, " ({})", line(mime)),
            (None, Some(size)) => write!(f, " ({size} bytes)"),
            (None, None) => Ok(()),
        }
    }
}

/// A link as it is deserialized: optional fields that do not follow the protocol are left out, and
/// the link stays.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LinkIn {
    uri: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    mime_type: Option<String>,
    #[serde(default)]
    size: Option<Value>,
    #[serde(default)]
    icons: Option<Value>,
    #[serde(default)]
    annotations: Option<Value>,
    #[serde(default, rename = "_meta")]
    meta: Option<Value>,
}

impl From<LinkIn> for ResourceLink {
    fn from(read: LinkIn) -> Self {
        Self {
            name: read.name.unwrap_or_else(|| read.uri.clone()),
            uri: read.uri,
            title: read.title,
            description: read.description,
            mime_type: read.mime_type,
            size: read.size.as_ref().and_then(Value::as_u64),
            icons: Icon::safe_of(read.icons.as_ref()),
            attributes: Attributes::read(read.annotations.as_ref(), read.meta.as_ref()),
        }
    }
}
