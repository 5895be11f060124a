//! Trace context of a call, across processes.

/// The position of a call in a distributed trace, by W3C Trace Context.
///
/// Set it on the context of a call ([`ToolContext::with`](crate::ToolContext::with)), and a mounted
/// server receives it in the `_meta` of the request, as the Model Context Protocol specifies.
///
/// ```
/// use toolbox::mcp::TraceContext;
/// use toolbox::{tool, ToolBox, tools};
///
/// /// Returns the trace that a call belongs to.
/// #[tool]
/// fn traced(trace: Option<TraceContext>) -> String {
///     trace.map_or_else(|| "none".to_owned(), |trace| trace.traceparent)
/// }
///
/// let toolbox = ToolBox::from(tools![traced]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceContext {
    /// The `traceparent` header, such as `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
    pub traceparent: String,
    /// The `tracestate` header: data of vendors.
    pub tracestate: Option<String>,
    /// The `baggage` header: values passed along.
    pub baggage: Option<String>,
}
