//! The tools of a run that has more than those of its agent.

use std::sync::Arc;

use crate::collection::ToolBox;
use crate::tool::Tool;

/// The box of a run that has more tools than its agent: the agent's own, then those given to the
/// run, then those of the run above that it inherits, each whose name is free.
///
/// It is a copy that belongs to the run, brought up to date before each step, so nothing is ever
/// written into either box.
pub(super) struct JoinedTools {
    own: ToolBox,
    given: Arc<[Tool]>,
    above: Option<ToolBox>,
    /// The generations of both boxes that the copy was made of.
    copied: (u64, Option<u64>),
    copy: ToolBox,
}

impl JoinedTools {
    /// Joins the tools; `None` if there are none but those of the agent.
    pub(super) fn new(own: &ToolBox, given: &Arc<[Tool]>, above: Option<&ToolBox>) -> Option<Self> {
        let above = above.filter(|above| !own.is_same(above));
        if above.is_none() && given.is_empty() {
            return None;
        }
        let copy = own.empty_below(above.unwrap_or(own));
        let (given, above) = (Arc::clone(given), above.cloned());
        let mut joined = Self { own: own.clone(), given, above, copied: (0, None), copy };
        joined.copy();
        Some(joined)
    }

    /// The box with all tools; the same value as long as the run lasts.
    pub(super) fn toolbox(&self) -> &ToolBox {
        &self.copy
    }

    /// Takes over what changed in either box.
    pub(super) fn refresh(&mut self) {
        if self.copied != self.generations() {
            self.copy();
        }
    }

    fn generations(&self) -> (u64, Option<u64>) {
        (self.own.generation(), self.above.as_ref().map(ToolBox::generation))
    }

    fn copy(&mut self) {
        // Read first: what changes meanwhile is copied the next time.
        self.copied = self.generations();
        let mut tools = self.own.tools();
        let given = self.given.iter().filter(|tool| !self.own.has(tool.name()));
        tools.extend(given.cloned());
        let inherited = self.above.as_ref().map(ToolBox::tools_with_layers).unwrap_or_default();
        // Delegation goes down: an agent that also calls those above or beside it has them added.
        let stays_above = |tool: &Tool| {
            let running = &tool.inner().running;
            running.starts_run || running.hands_over.is_some() || running.of_one_run
        };
        let is_given = |name: &str| self.given.iter().any(|given| given.name() == name);
        tools.extend(inherited.into_iter().filter(|tool| {
            !stays_above(tool) && !self.own.has(tool.name()) && !is_given(tool.name())
        }));
        self.copy.replace_tools(tools);
    }
}
