//! The callers of a tool.

use serde::{Deserialize, Serialize};

/// The callers of a tool: the model itself, programs that it writes and its provider runs, or both.
///
/// A program calls a tool many times without the model reading each result. `OpenAI` Responses
/// (JavaScript) and Anthropic (Python) run programs; requests to them offer the service's own tool
/// for it as soon as one tool has such callers. Elsewhere the model calls the tool itself.
///
/// A program reads a result as JSON text, so describe it: `OpenAI` is sent the [output
/// schema](super::ToolDefinition::output_schema). Calls may be repeated when a service starts a
/// program again, and Anthropic waits 4.5 minutes for a result.
///
/// ```
/// use toolbox::definition::Callers;
/// use toolbox::dialect::{Dialect, lower};
/// use toolbox::{Tool, ToolBox};
///
/// let stock = Tool::new("stock", "Tells the units in stock").call(|_| "{\"units\":3}");
/// let stock = stock.with_callers(Callers::Programs);
/// let lowered = lower(stock.definition(), Dialect::OpenAiResponses).tool;
/// assert_eq!(lowered["allowed_callers"][0], "programmatic");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Callers {
    /// The model.
    #[default]
    Model,
    /// Programs alone.
    Programs,
    /// The model and programs.
    Both,
}

impl Callers {
    /// Returns `true` if programs may call the tool.
    #[must_use]
    pub fn include_programs(self) -> bool {
        self != Self::Model
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
