//! Resources that the results of a server refer to, and that it does not list.

use std::sync::Arc;

use super::Server;
use crate::call::{Content, ToolResult};
use crate::mcp::client::mount_offers;
use crate::mcp::client::outward::Outward;
use crate::resource::Resource;

/// The maximum number of such resources of one server; the oldest are forgotten.
const MAX_LINKS: usize = 256;

/// The maximum length of a URI, in bytes.
const MAX_URI: usize = 8 * 1024;

impl Server {
    /// Returns a result with the URIs under which the box has what it refers to.
    pub(super) fn with_uris_of_the_box(&self, result: ToolResult) -> ToolResult {
        let names_uris =
            |part: &Content| matches!(part, Content::ResourceLink(_) | Content::Resource(_));
        if !result.content().iter().any(names_uris) {
            return result;
        }
        Outward::of(self).rename(result)
    }

    /// Makes the resources that a result refers to readable, without listing them.
    pub(super) fn remember_links(self: &Arc<Self>, result: &ToolResult) {
        let resources = self.shared.toolbox.resources();
        let linked = result.content().iter().filter_map(|part| match part {
            Content::ResourceLink(link) => Some(link.uri.as_str()),
            Content::Resource(contents) => Some(contents.uri.as_str()),
            _ => None,
        });
        let is_new =
            |uri: &&str| !uri.is_empty() && uri.len() <= MAX_URI && resources.find(uri).is_none();
        let new: Vec<Resource> = linked
            .filter(|uri| !uri.contains(char::is_control))
            .filter(is_new)
            .take(MAX_LINKS)
            .map(|uri| mount_offers::unlisted(self, uri).provisional())
            .collect();
        if new.is_empty() || self.gone.is_cancelled() {
            return;
        }
        let forgotten: Vec<Resource> = {
            let mut now = self.now();
            now.linked.extend(new.iter().cloned());
            let excess = now.linked.len().saturating_sub(MAX_LINKS);
            now.linked.drain(..excess).collect()
        };
        self.shared.put_resources(&forgotten, &new);
    }

    /// Removes all such resources.
    pub(super) fn forget_links(&self) {
        let linked = std::mem::take(&mut self.now().linked);
        self.shared.put_resources(&Vec::from(linked), &[]);
    }
}
