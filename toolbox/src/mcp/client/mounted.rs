//! The part of a server's list that is in the box.

use serde_json::Value;

use super::list::display_name;
use super::status::{WithheldReason, WithheldTool};
use crate::prompt::Prompt;
use crate::resource::Resource;
use crate::tool::Tool;

/// The tools, prompts and resources of a list that are in the box, and those that are withheld.
#[derive(Debug, Default)]
pub(super) struct MountedOffers {
    pub(super) tools: Vec<Tool>,
    pub(super) prompts: Vec<Prompt>,
    pub(super) resources: Vec<Resource>,
    pub(super) withheld: Vec<WithheldTool>,
    pub(super) notices: Vec<String>,
    /// The digest of the list, where there is a lock file.
    pub(super) digest: Option<String>,
}

impl MountedOffers {
    pub(super) fn withhold(&mut self, name: &str, reason: WithheldReason, detail: String) {
        let name = display_name(name);
        self.withheld.push(WithheldTool { name, reason, detail, definition: None });
    }

    /// Withholds a tool that the lock does not admit, with its current definition.
    pub(super) fn withhold_unapproved(
        &mut self,
        name: &str,
        reason: WithheldReason,
        detail: String,
        definition: &Value,
    ) {
        self.withhold(name, reason, detail);
        if let Some(withheld) = self.withheld.last_mut() {
            withheld.definition = Some(definition.clone());
        }
    }
}
