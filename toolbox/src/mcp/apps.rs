//! The extension of the protocol for the pages of MCP Apps.

use serde_json::Value;
#[cfg(feature = "mcp-client")]
use serde_json::{Map, json};

/// The name of the extension.
pub(super) const APPS: &str = "io.modelcontextprotocol/ui";

/// The client's own declaration of the extension, in the context of its calls; `None` if it
/// displays no pages.
#[derive(Debug)]
pub(super) struct AppsOfClient(pub(super) Option<Value>);

/// Returns the declaration of a client that displays pages.
#[cfg(feature = "mcp-client")]
pub(super) fn declared() -> Map<String, Value> {
    Map::from_iter([("mimeTypes".to_owned(), json!(["text/html;profile=mcp-app"]))])
}
