//! The `_meta` of requests to a server.

use rmcp::model::RequestMetaObject;
use serde_json::Value;

use crate::context::{ToolContext, TraceContext};

/// Returns the `_meta` that is sent with a call.
pub(super) fn meta_of(context: &ToolContext) -> RequestMetaObject {
    let mut meta = RequestMetaObject::new();
    if context.depth() > 0 {
        meta.insert("toolbox/depth".to_owned(), Value::from(context.depth()));
    }
    meta
}

/// Adds the position in a trace, under the names of W3C Trace Context.
pub(super) fn add_trace(meta: &mut RequestMetaObject, trace: &TraceContext) {
    meta.set_traceparent(trace.traceparent.as_str());
    if let Some(state) = &trace.tracestate {
        meta.set_tracestate(state.as_str());
    }
    if let Some(baggage) = &trace.baggage {
        meta.set_baggage(baggage.as_str());
    }
}
