//! Trace context of a call, across processes.

use std::sync::OnceLock;

use tracing::level_filters::LevelFilter;
use tracing::{Level, Span};

use super::context::ToolContext;
use super::from_context::FromContext;
use crate::call::ToolError;

/// The position of a call in a distributed trace, by W3C Trace Context.
///
/// Set it on the context of a call ([`ToolContext::with`](crate::ToolContext::with)), and a mounted
/// server receives it in the `_meta` of the request, as the Model Context Protocol specifies.
///
/// ```
/// use toolbox::context::TraceContext;
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

impl TraceContext {
    /// Returns the id of the trace, 32 hexadecimal digits; `None` if the header is not
    /// well-formed.
    #[must_use]
    pub fn trace_id(&self) -> Option<&str> {
        is_traceparent(&self.traceparent).then(|| self.traceparent.split('-').nth(1))?
    }
}

/// The connection between the spans of this process and distributed traces.
pub(crate) struct TraceLink {
    /// Makes a span a part of a trace.
    pub(crate) attach: fn(&Span, &TraceContext),
    /// Returns the position of the current span in its trace.
    pub(crate) current: fn() -> Option<TraceContext>,
}

static LINK: OnceLock<TraceLink> = OnceLock::new();

/// Sets the connection; the first one stays.
#[allow(dead_code, reason = "telemetry is a module on top of this one")]
pub(crate) fn set_link(link: TraceLink) {
    let _ = LINK.set(link);
}

/// Returns `true` if a subscriber could be listening; costs one load.
#[inline]
pub(crate) fn are_spans_on() -> bool {
    LevelFilter::current() >= Level::INFO
}

/// Returns `true` if spans take part in distributed traces.
#[allow(dead_code, reason = "protocols are modules on top of this one")]
pub(crate) fn is_linked() -> bool {
    LINK.get().is_some()
}

/// Makes a span that has no parent here a part of a trace of another process.
#[allow(dead_code, reason = "protocols are modules on top of this one")]
pub(crate) fn attach_remote(span: &Span, trace: &TraceContext) {
    if let Some(link) = LINK.get() {
        (link.attach)(span, trace);
    }
}

/// Returns the position of the current span in its trace.
pub(crate) fn trace_here() -> Option<TraceContext> {
    LINK.get().and_then(|link| (link.current)())
}

impl ToolContext {
    /// Makes a span that is not within another a part of the trace that this context names.
    pub(crate) fn link_span(&self, span: &Span) {
        if let (Some(link), Some(trace)) = (LINK.get(), self.get::<TraceContext>())
            && Span::current().is_none()
        {
            (link.attach)(span, trace);
        }
    }

    /// Returns the trace context for what is done now: of the current span, else that of the
    /// context. What the context carries along stays with it.
    pub(crate) fn current_trace(&self) -> Option<TraceContext> {
        let own = self.get::<TraceContext>();
        match trace_here() {
            Some(current) => {
                Some(TraceContext { baggage: own.and_then(|own| own.baggage.clone()), ..current })
            }
            None => own.cloned(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl FromContext for TraceContext {
    fn from_context(context: &ToolContext) -> Result<Self, ToolError> {
        context.get::<Self>().cloned().ok_or_else(|| "the call belongs to no trace".into())
    }
}

/// Returns whether a text is a valid `version-traceid-parentid-flags`: lower-case hexadecimal, and
/// neither id all zeros.
pub(crate) fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags, more @ ..] = &parts[..] else { return false };
    let hex = |part: &str, len: usize| {
        part.len() == len && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_set = |part: &str| part.bytes().any(|byte| byte != b'0');
    hex(version, 2)
        && *version != "ff"
        && (more.is_empty() || *version != "00")
        && hex(trace, 32)
        && is_set(trace)
        && hex(parent, 16)
        && is_set(parent)
        && hex(flags, 2)
}
