//! Lints on tool definitions, for tests of programs that define tools.

use std::fmt;

use serde_json::Value;

use crate::definition::ToolDefinition;

/// The fewest words of a description that says what a tool does and when to use it.
const FEWEST_WORDS: usize = 3;

/// A lint on a tool definition: a description that is missing or too short.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lint {
    /// The description has fewer than three words.
    ShortDescription {
        /// The tool.
        tool: String,
        /// Its description.
        description: String,
    },
    /// An argument has no description.
    UndescribedArgument {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
    },
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShortDescription { tool, description } => write!(
                f,
                "tool `{tool}` is described as {description:?}: say what it does, when to use it and when not to"
            ),
            Self::UndescribedArgument { tool, argument } => {
                write!(
                    f,
                    "argument `{argument}` of tool `{tool}` has no description: write a doc comment above it"
                )
            }
        }
    }
}

impl ToolDefinition {
    /// Returns the lints: a description of fewer than three words, arguments without a description.
    #[must_use]
    pub fn lints(&self) -> Vec<Lint> {
        let mut lints = Vec::new();
        if self.description.split_whitespace().count() < FEWEST_WORDS {
            lints.push(Lint::ShortDescription {
                tool: self.name.clone(),
                description: self.description.clone(),
            });
        }
        let schema = self.input_schema.read();
        let lacks_text = |schema: &Value| {
            schema["description"].as_str().is_none_or(|text| text.trim().is_empty())
        };
        let is_silent = |schema: &Value| {
            let definition = schema["$ref"]
                .as_str()
                .and_then(|reference| schema.pointer(reference.strip_prefix('#')?));
            lacks_text(schema) && definition.is_none_or(lacks_text)
        };
        if let Value::Object(arguments) = &schema["properties"] {
            for (argument, _) in arguments.iter().filter(|(_, schema)| is_silent(schema)) {
                let (tool, argument) = (self.name.clone(), argument.clone());
                lints.push(Lint::UndescribedArgument { tool, argument });
            }
        }
        lints
    }
}
