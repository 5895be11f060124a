//! Metrics by the OpenTelemetry API, and spans that take part in distributed traces.
//!
//! The names are those of the semantic conventions for generative AI (status: development,
//! 2026-11). The program brings the provider and the exporter. [`metrics`] is a sink of events.
//! Spans are those of the crate `tracing`: a `tracing_opentelemetry` layer exports them, and
//! [`link_traces`] makes them parts of the traces that calls come with.
//!
//! ```
//! use toolbox::{otel, tool, tools, ToolBox};
//!
//! /// Adds two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! otel::link_traces();
//! let meter = opentelemetry::global::meter("my-service");
//! let toolbox = ToolBox::builder().tools(tools![add]).events(otel::metrics(&meter)).build()?;
//! # Ok::<(), toolbox::collection::BuildToolBoxError>(())
//! ```

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::context::TraceContext;
use crate::context::trace::{TraceLink, set_link};
use crate::event::{
    Event, EventKind, EventSink, McpPeer, McpRequest, McpSession, McpSide, StopReason, ToolFinished,
};
use crate::model::{Usage, operation_name};

/// The instruments.
struct Instruments {
    tool_duration: Histogram<f64>,
    request_duration: Histogram<f64>,
    agent_duration: Histogram<f64>,
    input_of_operation: Histogram<u64>,
    output_of_operation: Histogram<u64>,
    input: Counter<u64>,
    output: Counter<u64>,
    cache_read: Counter<u64>,
    cache_write: Counter<u64>,
    reasoning: Counter<u64>,
    cost: Counter<f64>,
    unpriced: Counter<u64>,
    mcp: McpInstruments,
}

/// The instruments of one side of the Model Context Protocol, and of the other.
struct McpInstruments {
    client_requests: Histogram<f64>,
    server_requests: Histogram<f64>,
    client_sessions: Histogram<f64>,
    server_sessions: Histogram<f64>,
}

/// The boundaries of the buckets of the Model Context Protocol.
const MCP_BUCKETS: [f64; 14] =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// Returns a sink that records metrics of calls, requests and runs: `gen_ai.execute_tool.duration`,
/// `gen_ai.client.inference.*`, `gen_ai.invoke_agent.duration`; of requests and sessions of the
/// Model Context Protocol: `mcp.{client, server}.{operation, session}.duration`; and, since the
/// conventions have no money, `toolbox.client.inference.cost` and
/// `toolbox.client.inference.unpriced_tokens`.
///
/// Attach it to a box ([`ToolBoxBuilder::events`](crate::ToolBoxBuilder::events)), or to an agent
/// whose box has none. Names that a model made up are not recorded: each would be a time series.
#[must_use]
pub fn metrics(meter: &Meter) -> EventSink {
    let instruments = Instruments::new(meter);
    EventSink::from_fn(move |event| instruments.record(&event)).with_requests()
}

/// Returns the boundaries of buckets, from the first on, each twice the one before.
fn doubling(first: f64, count: i32) -> Vec<f64> {
    (0..count).map(|power| first * 2_f64.powi(power)).collect()
}

impl Instruments {
    fn new(meter: &Meter) -> Self {
        let seconds = |name: &'static str, description: &'static str, buckets: Vec<f64>| {
            let histogram = meter.f64_histogram(name).with_unit("s");
            histogram.with_description(description).with_boundaries(buckets).build()
        };
        let tokens = |name: &'static str, description: &'static str| {
            let buckets = (0..14).map(|power| 4_f64.powi(power)).collect();
            let histogram = meter.u64_histogram(name).with_unit("{token}");
            histogram.with_description(description).with_boundaries(buckets).build()
        };
        let counter = |name: &'static str, description: &'static str| {
            meter.u64_counter(name).with_unit("{token}").with_description(description).build()
        };
        Self {
            tool_duration: seconds(
                "gen_ai.execute_tool.duration",
                "The duration of a call of a tool.",
                doubling(0.01, 14),
            ),
            request_duration: seconds(
                "gen_ai.client.inference.duration",
                "The duration of a request to a model.",
                doubling(0.01, 14),
            ),
            agent_duration: seconds(
                "gen_ai.invoke_agent.duration",
                "The duration of a run of an agent.",
                doubling(0.1, 13),
            ),
            input_of_operation: tokens(
                "gen_ai.client.inference.operation.input_tokens",
                "The tokens read by one request.",
            ),
            output_of_operation: tokens(
                "gen_ai.client.inference.operation.output_tokens",
                "The tokens written by one request.",
            ),
            input: counter("gen_ai.client.inference.usage.input_tokens", "Tokens read."),
            output: counter("gen_ai.client.inference.usage.output_tokens", "Tokens written."),
            cache_read: counter(
                "gen_ai.client.inference.usage.cache_read.input_tokens",
                "Tokens read from a cache.",
            ),
            cache_write: counter(
                "gen_ai.client.inference.usage.cache_write.input_tokens",
                "Tokens written to a cache.",
            ),
            reasoning: counter(
                "gen_ai.client.inference.usage.reasoning.output_tokens",
                "Tokens of reasoning.",
            ),
            cost: meter
                .f64_counter("toolbox.client.inference.cost")
                .with_unit("USD")
                .with_description("The money that tokens cost, where they have a price.")
                .build(),
            unpriced: counter(
                "toolbox.client.inference.unpriced_tokens",
                "Tokens without a price.",
            ),
            mcp: McpInstruments {
                client_requests: seconds(
                    "mcp.client.operation.duration",
                    "The duration of a request to an MCP server.",
                    MCP_BUCKETS.to_vec(),
                ),
                server_requests: seconds(
                    "mcp.server.operation.duration",
                    "The duration of a request of an MCP client.",
                    MCP_BUCKETS.to_vec(),
                ),
                client_sessions: seconds(
                    "mcp.client.session.duration",
                    "The duration of a session with an MCP server.",
                    MCP_BUCKETS.to_vec(),
                ),
                server_sessions: seconds(
                    "mcp.server.session.duration",
                    "The duration of a session of an MCP client.",
                    MCP_BUCKETS.to_vec(),
                ),
            },
        }
    }

    fn record(&self, event: &Event) {
        match &event.kind {
            EventKind::ToolFinished(end) if !end.pending => self.call(event, end),
            EventKind::JobFinished(end) => self.call(event, end),
            EventKind::ModelFinished { model, requested, provider, usage, cost, took, .. } => {
                let attributes = request(provider, requested, Some(model));
                self.request_duration.record(took.as_secs_f64(), &attributes);
                self.input_of_operation.record(usage.input_tokens, &attributes);
                self.output_of_operation.record(usage.output_tokens, &attributes);
                self.usage(usage, &attributes);
                match cost {
                    Some(cost) => self.cost.add(cost.as_dollars(), &attributes),
                    None => self.unpriced.add(usage.total_tokens(), &attributes),
                }
            }
            EventKind::ModelFailed { model, provider, kind, took } => {
                let mut attributes = request(provider, model, None);
                self.usage(&Usage::default(), &attributes);
                attributes.push(KeyValue::new("error.type", kind.code()));
                self.request_duration.record(took.as_secs_f64(), &attributes);
                self.input_of_operation.record(0, &attributes);
                self.output_of_operation.record(0, &attributes);
            }
            EventKind::Charged { model, provider, usage, cost } if !provider.is_empty() => {
                let attributes = request(provider, model, None);
                self.usage(usage, &attributes);
                self.cost.add(cost.money.as_dollars(), &attributes);
                self.unpriced.add(cost.unpriced_tokens, &attributes);
            }
            EventKind::Finished { reason, took, .. } => {
                let error = (*reason != StopReason::Answered).then(|| reason.code().to_owned());
                self.run(event, error, *took);
            }
            EventKind::Failed { code, took, .. } => {
                self.run(event, Some(code.to_string()), *took);
            }
            EventKind::McpRequest(end) => self.mcp.request(end),
            EventKind::McpSession(end) => self.mcp.session(end),
            _ => {}
        }
    }

    fn call(&self, event: &Event, end: &ToolFinished) {
        if end.code.as_deref() == Some("tool.not_found") {
            return;
        }
        let mut attributes = vec![
            KeyValue::new("gen_ai.tool.name", end.tool.clone()),
            KeyValue::new("gen_ai.tool.type", "function"),
        ];
        attributes.extend(agent_name(event));
        attributes
            .extend(end.code.as_ref().map(|code| KeyValue::new("error.type", code.to_string())));
        self.tool_duration.record(end.took.as_secs_f64(), &attributes);
    }

    fn run(&self, event: &Event, error: Option<String>, took: Duration) {
        let mut attributes: Vec<KeyValue> = agent_name(event).into_iter().collect();
        attributes.extend(error.map(|code| KeyValue::new("error.type", code)));
        self.agent_duration.record(took.as_secs_f64(), &attributes);
    }

    fn usage(&self, usage: &Usage, attributes: &[KeyValue]) {
        // A service counts the tokens of all that was sent, whatever it is.
        let modality = KeyValue::new("gen_ai.token.modality", "unknown");
        let attributes: Vec<KeyValue> = attributes.iter().cloned().chain([modality]).collect();
        self.input.add(usage.input_tokens, &attributes);
        self.output.add(usage.output_tokens, &attributes);
        self.cache_read.add(usage.cache_read_input_tokens, &attributes);
        self.cache_write.add(usage.cache_creation_input_tokens, &attributes);
        self.reasoning.add(usage.reasoning_tokens, &attributes);
    }
}

impl McpInstruments {
    fn request(&self, end: &McpRequest) {
        let mut attributes = peer(&end.peer);
        attributes.push(KeyValue::new("mcp.method.name", end.method.to_string()));
        if let Some(tool) = &end.tool {
            attributes.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
            attributes.push(KeyValue::new("gen_ai.tool.name", tool.clone()));
        }
        let texts = [
            ("gen_ai.prompt.name", end.prompt.clone()),
            ("rpc.response.status_code", end.status_code.map(|code| code.to_string())),
            ("error.type", end.error.as_ref().map(ToString::to_string)),
        ];
        attributes.extend(
            texts.into_iter().filter_map(|(name, text)| text.map(|text| KeyValue::new(name, text))),
        );
        let requests = match end.peer.side {
            McpSide::Server => &self.server_requests,
            _ => &self.client_requests,
        };
        requests.record(end.took.as_secs_f64(), &attributes);
    }

    fn session(&self, end: &McpSession) {
        // The conventions have no transport for sessions.
        let mut attributes = peer(&end.peer);
        attributes.retain(|pair| pair.key.as_str() != "network.transport");
        attributes
            .extend(end.error.as_ref().map(|code| KeyValue::new("error.type", code.to_string())));
        let sessions = match end.peer.side {
            McpSide::Server => &self.server_sessions,
            _ => &self.client_sessions,
        };
        sessions.record(end.took.as_secs_f64(), &attributes);
    }
}

/// Returns the attributes of a connection.
fn peer(peer: &McpPeer) -> Vec<KeyValue> {
    let is_http = peer.transport.as_deref() == Some("tcp");
    let texts = [
        ("mcp.protocol.version", peer.protocol_version.as_deref()),
        ("network.transport", peer.transport.as_deref()),
        ("network.protocol.name", is_http.then_some("http")),
        ("server.address", peer.server_address.as_deref()),
    ];
    let present = texts.into_iter().filter_map(|(name, text)| Some((name, text?)));
    let mut all: Vec<_> =
        present.map(|(name, text)| KeyValue::new(name, text.to_owned())).collect();
    all.extend(peer.server_port.map(|port| KeyValue::new("server.port", i64::from(port))));
    all
}

fn agent_name(event: &Event) -> Option<KeyValue> {
    event.path.last().map(|name| KeyValue::new("gen_ai.agent.name", name.clone()))
}

/// Returns the attributes of a request to a model.
fn request(provider: &str, requested: &str, answered: Option<&str>) -> Vec<KeyValue> {
    let mut attributes = vec![
        KeyValue::new("gen_ai.operation.name", operation_name(provider)),
        KeyValue::new("gen_ai.provider.name", provider.to_owned()),
        KeyValue::new("gen_ai.request.model", requested.to_owned()),
    ];
    attributes.extend(answered.map(|name| KeyValue::new("gen_ai.response.model", name.to_owned())));
    attributes
}

/// Links the spans of this process to the traces that its calls come with, once for the process.
///
/// A call or a run whose context holds a [`TraceContext`] begins a span below it, unless it is in a
/// span already; requests to mounted servers carry the span that they are made in. It has an effect
/// where a `tracing_opentelemetry` layer is installed.
pub fn link_traces() {
    set_link(TraceLink { attach, current });
}

fn attach(span: &tracing::Span, trace: &TraceContext) {
    let mut parts = trace.traceparent.split('-').skip(1);
    let (Some(_), Some(id), Some(parent), Some(flags)) =
        (trace.trace_id(), parts.next(), parts.next(), parts.next())
    else {
        return;
    };
    let (Ok(id), Ok(parent), Ok(flags)) =
        (TraceId::from_hex(id), SpanId::from_hex(parent), u8::from_str_radix(flags, 16))
    else {
        return;
    };
    let state = trace.tracestate.as_deref().and_then(|state| state.parse::<TraceState>().ok());
    let flags = TraceFlags::new(flags) & TraceFlags::SAMPLED;
    let context = SpanContext::new(id, parent, flags, true, state.unwrap_or_default());
    let context = opentelemetry::Context::new().with_remote_span_context(context);
    // A span that began already stays where it is.
    let _ = span.set_parent(context);
}

fn current() -> Option<TraceContext> {
    let context = tracing::Span::current().context();
    let span = context.span();
    let span = span.span_context();
    let state = span.trace_state().header();
    span.is_valid().then(|| TraceContext {
        traceparent: format!(
            "00-{}-{}-{:02x}",
            span.trace_id(),
            span.span_id(),
            span.trace_flags().to_u8()
        ),
        tracestate: (!state.is_empty()).then_some(state),
        baggage: None,
    })
}
