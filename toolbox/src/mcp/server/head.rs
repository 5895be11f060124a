//! Values attached to the head of an HTTP request. Requests over streams have none.

use rmcp::RoleServer;
use rmcp::service::RequestContext;

/// Returns the value of a type attached to the head of a request.
pub(super) fn get<T: Send + Sync + 'static>(context: &RequestContext<RoleServer>) -> Option<&T> {
    context.extensions.get::<axum::http::request::Parts>()?.extensions.get::<T>()
}
