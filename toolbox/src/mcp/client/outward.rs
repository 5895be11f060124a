//! URIs of resources in the box, where they differ from those at their server.
//!
//! A resource keeps its URI, unless another resource of the box has it or a template of another
//! server matches it. Then its URI in the box is `mcp://<server>/<URI>`: the server's own URI stands
//! in it as it is, so that templates stay templates, and gateways may stand behind gateways.

use std::fmt::Write as _;

use crate::call::{Content, ToolResult};
use crate::collection::Resources;

/// The scheme of URIs in the box. A URI that a server begins so itself always gets a prefix, so that
/// no server can offer what looks like a resource of another.
const SCHEME: &str = "mcp://";

/// The URIs of the resources of one server.
#[derive(Clone, Copy)]
pub(super) struct Outward<'a> {
    pub(super) resources: &'a Resources,
    pub(super) server: &'a str,
}

impl Outward<'_> {
    /// Returns a URI of the server with the prefix of the server.
    pub(super) fn prefixed(self, own: &str) -> String {
        format!("{}{own}", prefix(self.server))
    }

    /// Returns `true` if the box has nothing of others at a URI of the server, but for what a result
    /// merely linked to if that `may_give_way`.
    pub(super) fn is_free(self, uri: &str, may_give_way: bool) -> bool {
        let exact = self.resources.get(uri);
        let there = exact.or_else(|| self.resources.find(uri).map(|(found, _)| found));
        there.is_none_or(|there| {
            there.source() == Some(self.server) || may_give_way && there.is_provisional()
        })
    }

    /// Returns the URI in the box for a resource that the server lists, or `None` if all are taken.
    pub(super) fn of_listed(self, own: &str) -> Option<String> {
        if !own.starts_with(SCHEME) && self.is_free(own, true) {
            return Some(own.to_owned());
        }
        Some(self.prefixed(own)).filter(|prefixed| self.is_free(prefixed, true))
    }

    /// Returns the URI in the box for one that a result of the server names.
    pub(super) fn of_named(self, own: &str) -> String {
        if own.is_empty() || !own.starts_with(SCHEME) && self.is_free(own, false) {
            own.to_owned()
        } else {
            self.prefixed(own)
        }
    }

    /// Writes the URIs of a result as those in the box.
    pub(super) fn rename(self, result: ToolResult) -> ToolResult {
        result.map_content(|part| match part {
            Content::ResourceLink(link) => link.uri = self.of_named(&link.uri),
            Content::Resource(contents) => contents.uri = self.of_named(&contents.uri),
            _ => {}
        })
    }
}

/// Returns the URI at a server of one in the box.
pub(super) fn at_server<'u>(server: &str, uri: &'u str) -> &'u str {
    uri.strip_prefix(&*prefix(server)).unwrap_or(uri)
}

fn prefix(server: &str) -> String {
    let mut prefix = SCHEME.to_owned();
    for byte in server.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            prefix.push(char::from(byte));
        } else {
            let _ = write!(prefix, "%{byte:02X}");
        }
    }
    prefix.push('/');
    prefix
}
