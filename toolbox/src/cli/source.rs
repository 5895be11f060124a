//! The source of a command's tools.

use crate::collection::ToolBox;
use crate::context::UNUSED_CONTEXT;
use crate::definition::ToolDefinition;
use crate::mcp::{Servers, Settings};
use crate::search::Ranking;
use crate::tool::Tool;

use super::outcome::Problem;

/// A box, and the servers that fill it, if any.
pub(super) struct ToolSource {
    pub(super) toolbox: ToolBox,
    pub(super) servers: Option<Servers>,
    /// The default number of tools that a search finds.
    pub(super) limit: usize,
    pub(super) ranking: Ranking,
    /// The problems of the configuration.
    pub(super) problems: Vec<Problem>,
    /// `true` if the items of a tool that streams are printed as they come.
    pub(super) prints_items: bool,
    /// The beginning of a command of this program, for a shell.
    pub(super) program: String,
}

impl ToolSource {
    pub(super) fn own(toolbox: ToolBox, program: String) -> Self {
        Self {
            toolbox,
            servers: None,
            limit: crate::search::DEFAULT_LIMIT,
            ranking: Ranking::default(),
            problems: Vec::new(),
            prints_items: false,
            program,
        }
    }

    /// Returns the tools that may be called, in order.
    pub(super) fn tools(&self) -> Vec<Tool> {
        let permitted = |tool: &Tool| self.toolbox.may_call(tool.name(), &UNUSED_CONTEXT);
        self.toolbox.tools().into_iter().filter(permitted).collect()
    }

    /// Returns the tool of a name, or that had it before, if it may be called.
    pub(super) fn tool(&self, name: &str) -> Option<Tool> {
        let own = self.toolbox.called(name)?;
        self.tools().into_iter().find(|tool| tool.name() == own.name())
    }
}

/// Returns the definition of a tool with its server.
pub(super) fn described(tool: &Tool) -> serde_json::Value {
    let definition: &ToolDefinition = tool.definition();
    let mut value = serde_json::json!(definition);
    if let Some(server) = tool.source() {
        value["server"] = server.into();
    }
    if let Some(name) = tool.name_at_source() {
        value["name_at_server"] = name.into();
    }
    value
}

/// Returns the ranking of searches set in the file.
pub(super) fn ranking(settings: &Settings) -> Ranking {
    if settings.plain_ranking { Ranking::plain() } else { Ranking::default() }
}
