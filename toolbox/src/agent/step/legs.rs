//! The agents that a run went through.

use std::sync::Arc;

use crate::agent::handoff::HandoffTarget;
use crate::call::Arguments;
use crate::collection::ToolBox;

/// A handoff that was accepted.
pub(super) struct AcceptedHandoff {
    pub(super) target: Arc<HandoffTarget>,
    /// The name of its tool.
    pub(super) tool: String,
    pub(super) arguments: Arguments,
}

/// The agents that had the conversation of a run before the one that has it.
#[derive(Default)]
pub(super) struct HandedOver {
    /// The name that the run began under.
    began_as: String,
    pub(super) made: Vec<MadeHandoff>,
    /// The number of handoffs that a run may make.
    most: u32,
}

pub(super) struct MadeHandoff {
    pub(super) tool: String,
    /// The number of requests before it.
    pub(super) began_at: u32,
    /// The box of the agent that handed over.
    from: ToolBox,
}

impl HandedOver {
    pub(super) fn new(began_as: &str, most: u32) -> Self {
        Self { began_as: began_as.to_owned(), made: Vec::new(), most }
    }

    pub(super) fn add(&mut self, tool: &str, began_at: u32, from: ToolBox) {
        self.made.push(MadeHandoff { tool: tool.to_owned(), began_at, from });
    }

    pub(super) fn began_as(&self) -> &str {
        &self.began_as
    }

    /// Returns the number of requests before the current agent.
    pub(super) fn began_at(&self) -> u32 {
        self.made.last().map_or(0, |last| last.began_at)
    }

    /// Returns how often the conversation may still be handed over.
    pub(super) fn left(&self) -> u32 {
        let made = u32::try_from(self.made.len()).unwrap_or(u32::MAX);
        self.most.saturating_sub(made)
    }

    /// Returns the boxes of the agents before.
    pub(super) fn boxes(&self) -> impl Iterator<Item = &ToolBox> {
        self.made.iter().map(|made| &made.from)
    }
}
