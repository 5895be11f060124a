//! The page without conversations: the feature `agent` brings them.

use std::sync::Arc;

use axum::Router;
use serde_json::Value;

use super::inner::PageInner;

pub(super) fn facts(_page: &PageInner) -> Value {
    Value::Null
}

pub(super) fn leave(_page: &PageInner, _session: u64) {}

pub(super) fn routes() -> Router<Arc<PageInner>> {
    Router::new()
}
