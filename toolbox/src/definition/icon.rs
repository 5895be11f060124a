//! Icons of tools and resources.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An icon that a client may display beside a tool or a resource.
///
/// `src` is an `https:` or `data:` URI. Nothing here fetches it.
///
/// ```
/// use toolbox::Tool;
/// use toolbox::definition::{Icon, IconTheme};
///
/// let icon = Icon::new("https://example.com/rain.svg")
///     .with_mime_type("image/svg+xml")
///     .with_theme(IconTheme::Dark);
/// let tool = Tool::new("weather", "Forecasts").call(|_| "It rains").with_icon(icon);
/// assert_eq!(tool.definition().icons.len(), 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// The `https:` or `data:` URI of the image.
    pub src: String,
    /// The MIME type of the image, such as `image/png`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes it is made for, such as `48x48`, or `any`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    /// The background it is made for; `None` for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
}

/// The background that an icon is made for.
///
/// ```
/// use toolbox::definition::{Icon, IconTheme};
///
/// let icon = Icon::new("https://example.com/sun.png").with_theme(IconTheme::Light);
/// assert_eq!(icon.theme, Some(IconTheme::Light));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IconTheme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
}

impl Icon {
    /// Returns an icon by its `https:` or `data:` URI.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), mime_type: None, sizes: None, theme: None }
    }

    /// Sets the MIME type of the image.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the sizes it is made for, such as `48x48`, or `any`.
    #[must_use]
    pub fn with_sizes<T: Into<String>>(mut self, sizes: impl IntoIterator<Item = T>) -> Self {
        self.sizes = Some(sizes.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the background it is made for.
    #[must_use]
    pub fn with_theme(mut self, theme: IconTheme) -> Self {
        self.theme = Some(theme);
        self
    }

    /// Reads the icons of a list whose `src` is `https:` or `data:`; the protocol has clients
    /// refuse all others.
    pub(crate) fn safe_of(list: Option<&Value>) -> Vec<Self> {
        let is_safe = |icon: &Self| {
            let scheme = icon.src.split(':').next().unwrap_or_default();
            ["https", "data"].iter().any(|safe| scheme.eq_ignore_ascii_case(safe))
        };
        let icons = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter();
        icons.filter_map(|icon| Self::deserialize(icon).ok()).filter(is_safe).collect()
    }
}
