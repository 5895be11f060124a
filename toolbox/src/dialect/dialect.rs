//! The providers' dialects, and the results of lowering to one.

use std::fmt;

use serde_json::Value;

use crate::definition::Namespace;

/// The form in which a provider takes tools.
///
/// ```
/// use toolbox::dialect::Dialect;
/// use toolbox::{tool, tools, ToolBox};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let toolbox = ToolBox::from(tools![add]);
/// assert!(toolbox.definitions_for(Dialect::Anthropic).json().contains("input_schema"));
/// assert!(toolbox.definitions_for(Dialect::OpenAiChat).json().contains("parameters"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// `OpenAI` Chat Completions, and the many services that imitate it.
    OpenAiChat,
    /// `OpenAI` Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini `generateContent`, the older form.
    Gemini,
    /// Gemini Interactions.
    GeminiInteractions,
    /// The Model Context Protocol.
    Mcp,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 6] = [
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::GeminiInteractions,
        Self::Mcp,
    ];

    /// Returns the position among [`Dialect::ALL`].
    pub(super) fn index(self) -> usize {
        self as usize
    }

    pub(super) fn is_open_ai(self) -> bool {
        matches!(self, Self::OpenAiChat | Self::OpenAiResponses)
    }

    pub(super) fn is_gemini(self) -> bool {
        matches!(self, Self::Gemini | Self::GeminiInteractions)
    }
}

/// One tool, ready for the list of one provider.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Lowered {
    /// The name as sent: the tool's own, or an [alias](super::outbound_name).
    pub name: String,
    /// The complete entry of the provider's list.
    pub tool: Value,
    /// `true` if the provider guarantees arguments that match the schema.
    pub strict: bool,
    /// The location and the reason in the schema if an `OpenAI` tool is not strict; `None` for
    /// strict tools and other providers.
    pub strict_obstacle: Option<String>,
    /// The constraints that the provider's schema leaves out.
    pub losses: Vec<Loss>,
    /// The namespace of the tool, if the provider knows namespaces.
    pub namespace: Option<Namespace>,
    pub(super) dialect: Dialect,
}

impl Lowered {
    /// Returns the dialect of the entry.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }
}

/// One keyword that a dialect cannot express.
///
/// Displays as one line, such as `` `maxLength` at /properties/name: moved to the description ``.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// JSON Pointer to the schema that holds the keyword; empty for the root of the input schema.
    pub path: String,
    /// The keyword.
    pub keyword: String,
    /// `true` if the model still reads it, as a sentence in a description.
    pub moved_to_description: bool,
}

impl Loss {
    /// Returns the loss of a keyword at the root of the input schema, or of a part of the
    /// definition.
    pub(super) fn at_root(keyword: &str, moved_to_description: bool) -> Self {
        Self { path: String::new(), keyword: keyword.to_owned(), moved_to_description }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "the root" } else { &self.path };
        let fate = if self.moved_to_description { "moved to the description" } else { "dropped" };
        write!(f, "`{}` at {place}: {fate}", self.keyword)
    }
}
