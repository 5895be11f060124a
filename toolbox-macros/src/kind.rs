//! Kinds of values that functions become: tools, prompts, resources.

use proc_macro2::{Ident, Span};

use crate::args::{self, OptionSpec};

/// The kind of value that a function becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Prompt,
    Resource,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Tool, Self::Prompt, Self::Resource];

    /// The noun in messages, and the name of the function that returns the value.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }

    /// The attribute, as written.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Self::Tool => "#[tool]",
            Self::Prompt => "#[prompt]",
            Self::Resource => "#[resource]",
        }
    }

    /// The attribute with options, for messages about them.
    pub(crate) fn attribute_with_options(self) -> &'static str {
        match self {
            Self::Tool => "#[tool(...)]",
            Self::Prompt => "#[prompt(...)]",
            Self::Resource => "#[resource(...)]",
        }
    }

    /// The macro that lists several.
    pub(crate) fn list(self) -> &'static str {
        match self {
            Self::Tool => "tools![]",
            Self::Prompt => "prompts![]",
            Self::Resource => "resources![]",
        }
    }

    pub(crate) fn options(self) -> &'static [OptionSpec] {
        match self {
            Self::Tool => args::TOOL,
            Self::Prompt => args::PROMPT,
            Self::Resource => args::RESOURCE,
        }
    }

    /// The options of `#[arg(...)]`: tools have no completion.
    pub(crate) fn argument_options(self) -> &'static [OptionSpec] {
        match self {
            Self::Tool => args::ARG,
            Self::Prompt | Self::Resource => args::COMPLETED_ARG,
        }
    }

    /// The function of the carrier that returns the value.
    pub(crate) fn function(self, span: Span) -> Ident {
        Ident::new(self.noun(), span)
    }
}
