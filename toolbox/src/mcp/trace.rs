//! Where a call stands in a trace that spans processes.

/// The place of a call in a distributed trace, by W3C Trace Context.
///
/// Give it with a call ([`ToolContext::with`](crate::ToolContext::with)), and a mounted server gets
/// it in the `_meta` of the request, as the Model Context Protocol asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceContext {
    /// Such as `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
    pub traceparent: String,
    /// What vendors add to it.
    pub tracestate: Option<String>,
    /// Values that travel along.
    pub baggage: Option<String>,
}
