//! The prompts and resources that a toolset brings along with its tools.

use super::error::RegisterError;
use super::toolbox::ToolBox;
use crate::tool::{SetOffers, Tool};

/// The names of prompts and resources that were added together.
pub(super) struct AddedOffers {
    prompts: Vec<String>,
    resources: Vec<String>,
}

impl AddedOffers {
    /// Removes them.
    pub(super) fn take_back(self, toolbox: &ToolBox) {
        for name in &self.prompts {
            toolbox.prompt_calls().unregister(name);
        }
        for name in &self.resources {
            toolbox.resource_calls().unregister(name);
        }
    }
}

fn names(tools: &[Tool]) -> Vec<String> {
    tools.iter().map(|tool| tool.name().to_owned()).collect()
}

impl ToolBox {
    /// Adds prompts and resources; one whose name is taken replaces the other.
    pub(super) fn add_offers(&self, offers: SetOffers) {
        if !offers.prompts.is_empty() {
            self.prompt_calls().register(offers.prompts);
        }
        if !offers.resources.is_empty() {
            self.resource_calls().register(offers.resources);
        }
    }

    /// Adds prompts and resources, or none of them.
    pub(super) fn try_add_offers(&self, offers: SetOffers) -> Result<AddedOffers, RegisterError> {
        let mut added = AddedOffers { prompts: Vec::new(), resources: Vec::new() };
        if !offers.prompts.is_empty() {
            let prompts = names(&offers.prompts);
            self.prompt_calls().try_register(offers.prompts)?;
            added.prompts = prompts;
        }
        if !offers.resources.is_empty() {
            let resources = names(&offers.resources);
            if let Err(error) = self.resource_calls().try_register(offers.resources) {
                added.take_back(self);
                return Err(error);
            }
            added.resources = resources;
        }
        Ok(added)
    }
}
