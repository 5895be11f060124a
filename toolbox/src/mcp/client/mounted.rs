//! The part of a server's list that is in the box.

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
}

impl MountedOffers {
    pub(super) fn withhold(&mut self, name: &str, reason: WithheldReason, detail: String) {
        self.withheld.push(WithheldTool { name: display_name(name), reason, detail });
    }
}
