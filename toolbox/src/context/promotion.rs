//! Tools that a search found, to be offered in the next requests of a run.

use std::sync::Arc;

use crate::definition::ToolDefinition;
use crate::sync::Mutex;

/// The name of the tool that searches by words.
///
/// It is defined here because formats read calls of it by this name, with or without a gateway in
/// the program.
pub(crate) const SEARCH_TOOL: &str = "toolbox_search_bm25";

/// The tools that an agent offers in its next steps; an extension of the context of each of its
/// calls.
#[derive(Default)]
pub(crate) struct Promotions(Mutex<PromotionState>);

#[derive(Default)]
struct PromotionState {
    step: u32,
    /// Each tool with the last step it is offered in, in the order they were found.
    tools: Vec<(Arc<ToolDefinition>, u32)>,
}

impl Promotions {
    /// Offers tools in the next `steps` requests; one that was found again stays longer.
    pub(crate) fn add<'a>(&self, tools: impl Iterator<Item = &'a Arc<ToolDefinition>>, steps: u32) {
        if steps == 0 {
            return;
        }
        let mut state = self.0.lock();
        let until = state.step.saturating_add(steps);
        for tool in tools {
            match state.tools.iter_mut().find(|(own, _)| own.name == tool.name) {
                Some(own) => *own = (Arc::clone(tool), until),
                None => state.tools.push((Arc::clone(tool), until)),
            }
        }
    }

    /// Returns the tools by name, each with the last step it is offered in.
    pub(crate) fn list(&self) -> Vec<(String, u32)> {
        let state = self.0.lock();
        state.tools.iter().map(|(tool, until)| (tool.name.clone(), *until)).collect()
    }

    /// Offers tools up to the steps that a list of an earlier process names.
    pub(crate) fn restore(&self, tools: Vec<(Arc<ToolDefinition>, u32)>) {
        self.0.lock().tools = tools;
    }

    /// Begins a step, and returns the tools that are offered in it.
    pub(crate) fn enter(&self, step: u32) -> Vec<Arc<ToolDefinition>> {
        let mut state = self.0.lock();
        state.step = step;
        state.tools.retain(|(_, until)| *until >= step);
        state.tools.iter().map(|(tool, _)| Arc::clone(tool)).collect()
    }
}
