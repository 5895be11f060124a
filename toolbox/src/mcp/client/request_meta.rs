//! The `_meta` of requests to a server.

use rmcp::model::RequestMetaObject;
use serde_json::Value;

use crate::context::ToolContext;

/// Returns the `_meta` that is sent with a call.
pub(super) fn meta_of(context: &ToolContext) -> RequestMetaObject {
    let mut meta = RequestMetaObject::new();
    if let Some(trace) = context.current_trace() {
        meta.set_traceparent(trace.traceparent.as_str());
        if let Some(state) = &trace.tracestate {
            meta.set_tracestate(state.as_str());
        }
        if let Some(baggage) = &trace.baggage {
            meta.set_baggage(baggage.as_str());
        }
    }
    if context.depth() > 0 {
        meta.insert("toolbox/depth".to_owned(), Value::from(context.depth()));
    }
    meta
}
