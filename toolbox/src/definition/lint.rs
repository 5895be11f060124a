//! Lints on tool definitions, for tests of programs that define tools.

use std::fmt;

use serde_json::Value;

use crate::definition::{DeprecatedPart, ToolDefinition};

/// The fewest words of a description that says what a tool does and when to use it.
const FEWEST_WORDS: usize = 3;

/// The most characters of a description; hosts and providers cut longer ones.
const MOST_CHARACTERS: usize = 2_000;

/// A lint on a tool definition: a description that is missing, too short or too long, and what is
/// deprecated.
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
    /// The description of the tool or of an argument has more than 2 000 characters.
    LongDescription {
        /// The tool.
        tool: String,
        /// The argument; `None` for the tool itself.
        argument: Option<String>,
        /// The number of its characters.
        characters: usize,
    },
    /// An argument has no description.
    UndescribedArgument {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
    },
    /// The tool is deprecated, or an argument or a value of one.
    Deprecated {
        /// The tool.
        tool: String,
        /// The path of the argument, such as `filters[].since`; `None` for the tool itself.
        argument: Option<String>,
        /// The value of the argument, if only that is deprecated.
        value: Option<String>,
        /// What to use instead; empty if nothing says that.
        note: String,
    },
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShortDescription { tool, description } => write!(
                f,
                "tool `{tool}` is described as {description:?}: say what it does, when to use it and when not to"
            ),
            Self::LongDescription { tool, argument, characters } => {
                if let Some(argument) = argument {
                    write!(f, "argument `{argument}` of ")?;
                }
                write!(
                    f,
                    "tool `{tool}` has a description of {characters} characters: say in at most {MOST_CHARACTERS} what the model needs; each request carries it, and hosts cut it"
                )
            }
            Self::UndescribedArgument { tool, argument } => {
                write!(
                    f,
                    "argument `{argument}` of tool `{tool}` has no description: write a doc comment above it"
                )
            }
            Self::Deprecated { tool, argument, value, note } => {
                if let Some(value) = value {
                    write!(f, "value `{value}` of ")?;
                }
                if let Some(argument) = argument {
                    write!(f, "argument `{argument}` of ")?;
                }
                write!(f, "tool `{tool}` is deprecated: ")?;
                if note.is_empty() {
                    return f.write_str("say in its description what to use instead");
                }
                f.write_str(note)
            }
        }
    }
}

impl ToolDefinition {
    /// Returns the lints: a description of fewer than three words, descriptions of more than 2 000
    /// characters, arguments without a description, what is deprecated.
    #[must_use]
    pub fn lints(&self) -> Vec<Lint> {
        let mut lints = Vec::new();
        if self.description.split_whitespace().count() < FEWEST_WORDS {
            lints.push(Lint::ShortDescription {
                tool: self.name.clone(),
                description: self.description.clone(),
            });
        }
        let mut note_length = |argument: Option<&String>, description: &str| {
            let characters = description.chars().count();
            if characters > MOST_CHARACTERS {
                let (tool, argument) = (self.name.clone(), argument.cloned());
                lints.push(Lint::LongDescription { tool, argument, characters });
            }
        };
        note_length(None, &self.description);
        let schema = self.input_schema.read();
        if let Value::Object(arguments) = &schema["properties"] {
            for (argument, schema) in arguments {
                note_length(Some(argument), schema["description"].as_str().unwrap_or_default());
            }
        }
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
        if let Some(note) = self.deprecated() {
            let (tool, note) = (self.name.clone(), note.to_owned());
            lints.push(Lint::Deprecated { tool, argument: None, value: None, note });
        }
        for DeprecatedPart { path, value, note } in self.deprecated_parts() {
            let tool = self.name.clone();
            lints.push(Lint::Deprecated { tool, argument: Some(path), value, note });
        }
        lints
    }
}
