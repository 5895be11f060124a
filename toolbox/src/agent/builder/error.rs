//! Why agents cannot be built.

use std::fmt;

use crate::collection::RegisterError;
use crate::context::InvalidRuleError;
use crate::definition::InvalidNameError;
use crate::text::{QUOTED, quote};

/// Why an agent could not be built.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildAgentError {
    /// No model was given.
    NoModel,
    /// A tool's name is not one that tools may have.
    ToolName(InvalidNameError),
    /// A rule of the blacklist names nothing.
    Rule(InvalidRuleError),
    /// Two tools or agents have one name, or a tool lacks a state.
    Tools(RegisterError),
    /// The model was to call a tool of this name first, and the agent offers none.
    ToolChoice(String),
    /// A run may cost only so much, and the model has no price.
    NoPrice {
        /// The name of the service.
        provider: String,
        /// The name of the model.
        model: String,
    },
}

impl fmt::Display for BuildAgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoModel => f.write_str(
                "the agent has no model: give it one with `.llm(..)`, or a service with `.openai(key)`",
            ),
            Self::ToolName(error) => error.fmt(f),
            Self::Rule(error) => error.fmt(f),
            Self::Tools(error) => error.fmt(f),
            Self::NoPrice { provider, model } => write!(
                f,
                "`max_cost` needs a price, and model `{}` of {} has none: give the agent `.prices(..)` with one, or with a default price",
                quote(model, QUOTED),
                quote(provider, QUOTED)
            ),
            Self::ToolChoice(name) => write!(
                f,
                "the tool choice names `{}`, which is no tool that the agent offers",
                quote(name, QUOTED)
            ),
        }
    }
}

impl std::error::Error for BuildAgentError {}
