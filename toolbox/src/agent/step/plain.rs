//! The settings of a request without the changes of hooks.

use serde_json::{Map, Value};

use crate::model::ToolChoice;

/// The settings of a request as they are without the changes of hooks.
pub(super) struct PlainSettings {
    pub(super) system: Option<String>,
    pub(super) options: Map<String, Value>,
    pub(super) tool_choice: ToolChoice,
}
