//! The tools that a run offers to its model.

use std::sync::Arc;

use crate::agent::inherited::Inherited;
use crate::agent::settings::AgentSettings;
use crate::collection::ToolBox;
use crate::context::ToolContext;
use crate::context::promotion::{Promotions, SEARCH_TOOL};
use crate::definition::ToolDefinition;
use crate::dialect::Definitions;
use crate::model::ToolSearch;

/// The tools that a run offers.
pub(super) struct ToolOffer {
    /// The tools of the agent.
    own: ToolBox,
    /// The tools of the agent and those of the run above, where it inherits.
    inherited: Option<Inherited>,
    /// Tools that a search found, offered beside those of the box for some steps.
    pub(super) promotions: Arc<Promotions>,
    /// Tools that a search can find, with the generation of the box they are of, until the rules
    /// change.
    findable: Option<(u64, Definitions)>,
}

impl ToolOffer {
    pub(super) fn new(
        own: &ToolBox,
        inherited: Option<Inherited>,
        promotions: Arc<Promotions>,
    ) -> Self {
        Self { own: own.clone(), inherited, promotions, findable: None }
    }

    /// Returns the box whose tools the run calls.
    pub(super) fn toolbox(&self) -> &ToolBox {
        self.inherited.as_ref().map_or(&self.own, Inherited::toolbox)
    }

    /// Takes over what changed in the box of the run above.
    pub(super) fn refresh(&mut self) {
        if let Some(inherited) = &mut self.inherited {
            inherited.refresh();
        }
    }

    pub(super) fn forget_findable(&mut self) {
        self.findable = None;
    }

    /// Returns the search that a service may offer by itself, over the tools that may be called
    /// now.
    pub(super) fn search(
        &mut self,
        settings: &AgentSettings,
        context: &ToolContext,
        offered: &Definitions,
    ) -> Option<ToolSearch> {
        let is_search = |tool: &ToolDefinition| tool.name == SEARCH_TOOL;
        if !settings.native_search || !offered.iter().any(is_search) {
            return None;
        }
        let toolbox = self.toolbox().clone();
        // The same list for as long as nothing changes, because it is lowered and serialized once
        // for all its clones.
        let is_known = |(of, _): &(u64, Definitions)| *of == toolbox.generation();
        if toolbox.is_conditional() || !self.findable.as_ref().is_some_and(is_known) {
            self.findable = Some(toolbox.findable(context));
        }
        let (_, deferred) = self.findable.as_ref()?;
        (!deferred.is_empty()).then(|| ToolSearch::new(SEARCH_TOOL, deferred.clone()))
    }
}
