//! What a model is asked.

use serde_json::{Map, Value};

use super::History;
use crate::collection::Definitions;

/// One request to a model: who it is, what was said, what it may call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelRequest {
    /// Instructions that stand before the transcript.
    pub system: Option<String>,
    /// What was said so far; no call in it is unanswered.
    pub history: History,
    /// The tools the model may call.
    pub tools: Definitions,
    /// Whether it must call one. Default: as it likes.
    pub tool_choice: ToolChoice,
    /// Whether it may make several calls in one reply. Default: yes.
    pub parallel_tool_calls: bool,
    /// Options of the service, such as `temperature`; added to the request as they are, under names that every
    /// [`wire`](crate::wire) form explains.
    pub options: Map<String, Value>,
}

impl ModelRequest {
    /// Returns a request for what comes next in a transcript, without tools.
    #[must_use]
    pub fn new(history: History) -> Self {
        Self {
            system: None,
            history,
            tools: Definitions::default(),
            tool_choice: ToolChoice::Auto,
            parallel_tool_calls: true,
            options: Map::new(),
        }
    }

    /// Returns the request with instructions before the transcript.
    #[must_use]
    pub fn with_system(mut self, system: impl Into<String>) -> Self {
        self.system = Some(system.into());
        self
    }

    /// Returns the request with tools that may be called.
    #[must_use]
    pub fn with_tools(mut self, tools: impl Into<Definitions>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Returns the request with another choice of tools.
    #[must_use]
    pub fn with_tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Returns the request so that the model makes several calls in one reply, or one at most.
    #[must_use]
    pub fn with_parallel_tool_calls(mut self, parallel: bool) -> Self {
        self.parallel_tool_calls = parallel;
        self
    }

    /// Returns the request with an option of the service.
    #[must_use]
    pub fn with_option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.insert(name.into(), value.into());
        self
    }
}

/// Whether a model must call a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It may not call any.
    None,
    /// It must call at least one.
    Required,
    /// It must call this one.
    Tool(String),
}
