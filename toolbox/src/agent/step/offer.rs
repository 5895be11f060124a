//! The tools that a run offers to its model.

use std::sync::Arc;

use crate::agent::joined::JoinedTools;
use crate::agent::settings::AgentSettings;
use crate::collection::ToolBox;
use crate::context::ToolContext;
use crate::context::promotion::{Promotions, SEARCH_TOOL};
use crate::context::rules::Rules;
use crate::definition::ToolDefinition;
use crate::dialect::Definitions;
use crate::model::ToolSearch;

/// The tools that a run offers.
pub(super) struct ToolOffer {
    /// The tools of the agent.
    own: ToolBox,
    /// The tools of the agent with those that the run has beside them.
    joined: Option<JoinedTools>,
    /// Tools that a search found, offered beside those of the box for some steps.
    pub(super) promotions: Arc<Promotions>,
    /// Tools that a search can find, with the generation of the box they are of, until the rules
    /// change.
    findable: Option<(u64, Definitions)>,
    /// The last offer that the box and the rules alone decided.
    last: Option<RuledOffer>,
}

/// The definitions that the rules of a context leave of the box.
struct RuledOffer {
    generation: u64,
    rules: Option<Arc<Rules>>,
    definitions: Definitions,
}

impl RuledOffer {
    fn new(toolbox: &ToolBox, context: &ToolContext) -> Self {
        // Read before the list: after a change in between, the next step finds its offer again.
        let generation = toolbox.generation();
        let definitions = toolbox.offer_with(context, &[]);
        Self { generation, rules: context.rules().cloned(), definitions }
    }

    fn is_of(&self, toolbox: &ToolBox, context: &ToolContext) -> bool {
        let rules = self.rules.as_ref().map(Arc::as_ptr);
        self.generation == toolbox.generation() && rules == context.rules().map(Arc::as_ptr)
    }
}

impl ToolOffer {
    pub(super) fn new(
        own: &ToolBox,
        joined: Option<JoinedTools>,
        promotions: Arc<Promotions>,
    ) -> Self {
        Self { own: own.clone(), joined, promotions, findable: None, last: None }
    }

    /// Returns the box whose tools the run calls.
    pub(super) fn toolbox(&self) -> &ToolBox {
        self.joined.as_ref().map_or(&self.own, JoinedTools::toolbox)
    }

    /// Returns the agent's own box where the run calls the tools of a copy, which has no rules.
    pub(super) fn copied_box(&self) -> Option<&ToolBox> {
        self.joined.as_ref().map(|_| &self.own)
    }

    /// Returns the tools that a step offers, but for what hooks leave out.
    ///
    /// Rules are asked for each tool, so the offer is made again only if they or the box changed.
    pub(super) fn enter(&mut self, step: u32, context: &ToolContext) -> Definitions {
        self.refresh();
        let found = self.promotions.enter(step);
        let toolbox = &self.toolbox().clone();
        if !found.is_empty() || toolbox.is_conditional() {
            return toolbox.offer_with(context, &found);
        }
        let last = self.last.take().filter(|last| last.is_of(toolbox, context));
        let last = last.unwrap_or_else(|| RuledOffer::new(toolbox, context));
        self.last.insert(last).definitions.clone()
    }

    /// Takes over what changed in the boxes.
    fn refresh(&mut self) {
        if let Some(joined) = &mut self.joined {
            joined.refresh();
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
