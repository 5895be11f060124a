//! The tools of a run that inherits those of the run above it.

use crate::collection::ToolBox;
use crate::tool::Tool;

/// The box of a run that inherits: the agent's own tools, then those of the run above whose names
/// are free.
///
/// It is a copy that belongs to the run, brought up to date before each step, so nothing is ever
/// written into either box.
pub(super) struct Inherited {
    own: ToolBox,
    above: ToolBox,
    /// The generations of both that the copy was made of.
    copied: (u64, u64),
    copy: ToolBox,
}

impl Inherited {
    /// Joins the tools of two boxes; nothing is to be joined where they are the same.
    pub(super) fn new(own: &ToolBox, above: &ToolBox) -> Option<Self> {
        if own.is_same(above) {
            return None;
        }
        let copy = own.empty_below(above);
        let mut inherited = Self { own: own.clone(), above: above.clone(), copied: (0, 0), copy };
        inherited.copy();
        Some(inherited)
    }

    /// The box with all tools; the same value as long as the run lasts.
    pub(super) fn toolbox(&self) -> &ToolBox {
        &self.copy
    }

    /// Takes over what changed in either box.
    pub(super) fn refresh(&mut self) {
        if self.copied != (self.own.generation(), self.above.generation()) {
            self.copy();
        }
    }

    fn copy(&mut self) {
        // Read first: what changes meanwhile is copied the next time.
        self.copied = (self.own.generation(), self.above.generation());
        let mut tools = self.own.tools();
        let inherited = self.above.tools_with_layers();
        // Delegation goes down: an agent that also calls those above or beside it has them added.
        let delegates = |tool: &Tool| {
            let running = &tool.inner().running;
            running.starts_run || running.hands_over.is_some()
        };
        let inherited = inherited.into_iter().filter(|tool| !delegates(tool));
        let inherited: Vec<_> = inherited.filter(|tool| !self.own.has(tool.name())).collect();
        tools.extend(inherited);
        self.copy.replace_tools(tools);
    }
}
