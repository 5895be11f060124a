//! Spans and events of calls, by the OpenTelemetry conventions for generative AI (status:
//! development, 2026-11).

use std::time::{Duration, Instant};

use tracing::Instrument;
use tracing::field::Empty;
use tracing::instrument::Instrumented;

use super::admitted::OwnedCall;
use crate::call::ToolResult;
pub(super) use crate::context::trace::are_spans_on as is_on;
use crate::validate::shown;

/// Instruments work that moves to its own task with the current span.
pub(super) fn carried<F: Future>(future: F) -> Instrumented<F> {
    let span = if is_on() { tracing::Span::current() } else { tracing::Span::none() };
    future.instrument(span)
}

/// The span `execute_tool {name}` of one call.
pub(super) struct Span {
    inner: tracing::Span,
    tool: String,
    started: Instant,
    record_content: bool,
}

impl Span {
    pub(super) fn open(call: &OwnedCall) -> Self {
        let definition = call.tool.definition();
        let tool = definition.name.clone();
        let span = tracing::info_span!(
            "execute_tool",
            otel.name = format!("execute_tool {tool}"),
            otel.kind = "internal",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = tool,
            gen_ai.tool.call.id = call.context.call_id(),
            gen_ai.tool.description = definition.description,
            gen_ai.tool.r#type = "function",
            gen_ai.tool.call.arguments = Empty,
            gen_ai.tool.call.result = Empty,
            error.r#type = Empty,
            otel.status_code = Empty,
            // Of the request to a server of the Model Context Protocol, where the call is one.
            mcp.method.name = Empty,
            mcp.protocol.version = Empty,
            mcp.session.id = Empty,
            jsonrpc.request.id = Empty,
            rpc.response.status_code = Empty,
            network.transport = Empty,
            network.protocol.name = Empty,
            server.address = Empty,
            server.port = Empty,
        );
        call.context.link_span(&span);
        let record_content = call.shared.settings.record_content;
        if record_content {
            let text = call.arguments.as_str();
            let shown = shown(Some(definition), text);
            span.record("gen_ai.tool.call.arguments", shown.as_deref().unwrap_or(text));
        }
        span.in_scope(|| tracing::info!(tool, "tool started"));
        Self { inner: span, tool, started: Instant::now(), record_content }
    }

    pub(super) async fn within<F: Future>(&self, future: F) -> F::Output {
        future.instrument(self.inner.clone()).await
    }

    pub(super) fn close(self, result: &ToolResult) {
        let duration_ms = milliseconds(self.started.elapsed());
        let tool = self.tool.as_str();
        let _entered = self.inner.enter();
        if let Some(code) = result.code() {
            self.inner.record("error.type", code);
            self.inner.record("otel.status_code", "ERROR");
            let error = result.source().map(tracing::field::display);
            tracing::warn!(tool, code, duration_ms, error, "tool failed");
        } else if result.is_pending() {
            tracing::info!(tool, duration_ms, "tool goes on in the background");
        } else {
            if self.record_content {
                self.inner.record("gen_ai.tool.call.result", &*result.text());
            }
            tracing::info!(tool, duration_ms, "tool finished");
        }
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
