//! URIs of resources in the box, where they differ from those at their server.
//!
//! A resource keeps its URI, unless another resource of the box has it or a template of another
//! server matches it. Then its URI in the box is `mcp://<server>/<URI>`: the server's own URI
//! stands in it as it is, so that templates stay templates, and gateways may stand behind gateways.

use std::cell::OnceCell;

use super::server::Server;
use crate::call::{Content, ToolResult};
use crate::collection::Resources;
use crate::resource::{Resource, SERVER_SCHEME, prefixed};

/// The URIs in the box for those of one server.
pub(super) struct Outward<'a> {
    server: &'a str,
    resources: Resources,
    /// All templates, in order; read once they are needed.
    templates: OnceCell<Vec<Resource>>,
}

impl<'a> Outward<'a> {
    pub(super) fn of(server: &'a Server) -> Self {
        let resources = server.shared.toolbox.resources();
        Self { server: &server.name, resources, templates: OnceCell::new() }
    }

    /// Returns `true` if nothing of others has a URI, but for what a result of another merely
    /// linked to.
    pub(super) fn is_free(&self, uri: &str) -> bool {
        self.resources.get(uri).is_none_or(|there| self.gives_way(&there))
    }

    fn gives_way(&self, there: &Resource) -> bool {
        self.is_own(there) || there.is_provisional()
    }

    fn is_own(&self, resource: &Resource) -> bool {
        resource.source() == Some(self.server)
    }

    /// Returns the resource that the box reads a URI as.
    fn read_as(&self, uri: &str) -> Option<Resource> {
        let exact = self.resources.get(uri).filter(|exact| !exact.is_template());
        let template = || {
            let templates = self.templates.get_or_init(|| self.resources.templates());
            templates.iter().find(|template| template.matches(uri).is_some()).cloned()
        };
        exact.or_else(template)
    }

    /// Returns the URI in the box for a resource that the server lists, or `None` if all are taken.
    pub(super) fn of_listed(&self, own: &str) -> Option<String> {
        let there = || self.resources.get(own).or_else(|| self.read_as(own));
        if !may_have_scheme(own) && there().is_none_or(|there| self.gives_way(&there)) {
            return Some(own.to_owned());
        }
        Some(prefixed(self.server, own)).filter(|prefixed| self.is_free(prefixed))
    }

    /// Returns the URI in the box for one that a result of the server names.
    fn of_named(&self, own: &str) -> String {
        if own.is_empty() {
            return String::new();
        }
        let prefixed = prefixed(self.server, own);
        let offers = |uri: &str| self.read_as(uri).is_some_and(|there| self.is_own(&there));
        let is_left = || {
            // A page of the web is the same for everybody.
            self.read_as(own).is_none_or(|there| there.is_provisional() && is_web(own))
        };
        let keeps = !may_have_scheme(own) && (offers(own) || !offers(&prefixed) && is_left());
        if keeps { own.to_owned() } else { prefixed }
    }

    /// Writes the URIs of a result as those in the box.
    pub(super) fn rename(&self, result: ToolResult) -> ToolResult {
        result.map_content(|part| match part {
            Content::ResourceLink(link) => link.uri = self.of_named(&link.uri),
            Content::Resource(contents) => contents.uri = self.of_named(&contents.uri),
            _ => {}
        })
    }
}

/// Returns `true` if a URI begins with the scheme, or one that a template makes could: it always
/// gets a prefix, so that no server can offer what looks like a resource of another.
fn may_have_scheme(own: &str) -> bool {
    let start = own.split_once('{').map_or(own, |(start, _)| start);
    start.starts_with(SERVER_SCHEME) || own.len() > start.len() && SERVER_SCHEME.starts_with(start)
}

fn is_web(uri: &str) -> bool {
    uri.starts_with("https://") || uri.starts_with("http://")
}
