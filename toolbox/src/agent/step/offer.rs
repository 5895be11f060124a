//! The tools that a run offers to its model.

use std::sync::Arc;

use crate::agent::agent::AgentInner;
use crate::agent::inherited::Inherited;
use crate::collection::ToolBox;
use crate::context::ToolContext;
use crate::context::promotion::{Promotions, SEARCH_TOOL};
use crate::definition::ToolDefinition;
use crate::dialect::Definitions;
use crate::model::ToolSearch;

/// The tools of a run beside those of the agent's own box.
pub(super) struct ToolOffer {
    /// The tools of the agent and those of the run above, where it inherits.
    pub(super) inherited: Option<Inherited>,
    /// Tools that a search found, offered beside those of the box for some steps.
    pub(super) promotions: Arc<Promotions>,
    /// Tools that a search can find, with the generation of the box they are of, until the rules
    /// change.
    pub(super) findable: Option<(u64, Definitions)>,
}

impl ToolOffer {
    /// Returns the box whose tools the run calls.
    pub(super) fn toolbox<'a>(&'a self, agent: &'a AgentInner) -> &'a ToolBox {
        self.inherited.as_ref().map_or(&agent.toolbox, Inherited::toolbox)
    }

    pub(super) fn forget_findable(&mut self) {
        self.findable = None;
    }

    /// Returns the search that a service may offer by itself, over the tools that may be called
    /// now.
    pub(super) fn search(
        &mut self,
        agent: &AgentInner,
        context: &ToolContext,
        offered: &Definitions,
    ) -> Option<ToolSearch> {
        let is_search = |tool: &ToolDefinition| tool.name == SEARCH_TOOL;
        if !agent.settings.native_search || !offered.iter().any(is_search) {
            return None;
        }
        let toolbox = self.toolbox(agent).clone();
        // The same list for as long as nothing changes, because it is lowered and serialized once
        // for all its clones.
        if self.findable.as_ref().is_none_or(|(of, _)| *of != toolbox.generation()) {
            self.findable = Some(toolbox.findable(context));
        }
        let (_, deferred) = self.findable.as_ref()?;
        (!deferred.is_empty()).then(|| ToolSearch::new(SEARCH_TOOL, deferred.clone()))
    }
}
