//! What stands in the head of a request over HTTP, put there on its way in. Over streams there is
//! no head.

use rmcp::RoleServer;
use rmcp::service::RequestContext;

/// Returns what the head of a request carries of a type.
#[cfg(feature = "mcp-server-http")]
pub(super) fn get<T: Send + Sync + 'static>(context: &RequestContext<RoleServer>) -> Option<&T> {
    context.extensions.get::<axum::http::request::Parts>()?.extensions.get::<T>()
}

#[cfg(not(feature = "mcp-server-http"))]
pub(super) fn get<T: Send + Sync + 'static>(_: &RequestContext<RoleServer>) -> Option<&T> {
    None
}
