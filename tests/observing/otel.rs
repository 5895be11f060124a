//! Telemetry: the spans and metrics of calls, requests and runs, against the facts
//! of the conventions in `conventions.json`, and the place of spans in distributed traces.

#![allow(clippy::cast_precision_loss, reason = "counts of a test are small")]

mod mcp;

use crate::bounded::tokio;
use std::collections::{BTreeMap, BTreeSet};

use opentelemetry::trace::{SpanKind, Status, TracerProvider as _};
use opentelemetry::{KeyValue, Value as Attribute};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, Metric, MetricData, ResourceMetrics};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde_json::Value;
use toolbox::context::{Conversation, TraceContext};
use toolbox::cost::{Money, Price, PriceTable};
use toolbox::model::{
    Deltas, Finish, Model, ModelError, ModelErrorKind, ModelRequest, ModelResponse, Usage,
};
use toolbox::testing::ScriptedModel;
use toolbox::{Agent, BoxFuture, Tool, ToolBox, ToolCall, ToolContext, otel};
use tracing_subscriber::layer::SubscriberExt;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// The facts of the conventions.
fn conventions() -> Value {
    serde_json::from_str(include_str!("conventions.json")).unwrap()
}

fn names(list: &Value) -> BTreeSet<&str> {
    list.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

/// Holds the attributes of a span or a metric against the facts of its kind.
#[track_caller]
fn check_attributes(what: &str, facts: &Value, attributes: &[KeyValue]) {
    let conventions = conventions();
    let (required, allowed) = (names(&facts["required"]), names(&facts["allowed"]));
    let own: BTreeSet<&str> = attributes.iter().map(|pair| pair.key.as_str()).collect();
    assert_eq!(own.len(), attributes.len(), "{what} has an attribute twice: {attributes:?}");
    for name in &required {
        assert!(own.contains(name), "{what} lacks {name}: {own:?}");
    }
    for pair in attributes {
        let name = pair.key.as_str();
        assert!(required.contains(name) || allowed.contains(name), "{what} has {name}");
        let fact = &conventions["attributes"][name];
        let fits = match (fact["type"].as_str().unwrap(), &pair.value) {
            // Lists are JSON text, since fields of `tracing` hold no lists.
            ("string[]", Attribute::String(text)) => {
                serde_json::from_str::<Vec<String>>(text.as_str()).is_ok()
            }
            ("string", Attribute::String(_)) | ("int", Attribute::I64(_)) | ("any", _) => true,
            _ => false,
        };
        assert!(fits, "{what}: {name} is {:?}", pair.value);
        if let Some(members) = fact.get("members") {
            assert!(
                names(members).contains(&*pair.value.as_str()),
                "{what}: {name} is {}",
                pair.value
            );
        }
    }
}

fn check_span(span: &SpanData) {
    // Fields of `tracing` itself: the place in the code, the thread, the target.
    let is_own = |name: &str| {
        ["code.", "thread.", "target", "busy_ns", "idle_ns", "level"]
            .iter()
            .any(|own| name.starts_with(own))
    };
    let attributes: Vec<KeyValue> =
        span.attributes.iter().filter(|pair| !is_own(pair.key.as_str())).cloned().collect();
    let value = |name: &str| {
        attributes
            .iter()
            .find(|pair| pair.key.as_str() == name)
            .map(|pair| pair.value.as_str().into_owned())
    };
    if span.span_kind != SpanKind::Internal
        && let Some(method) = value("mcp.method.name")
    {
        let side = if span.span_kind == SpanKind::Client { "mcp.client" } else { "mcp.server" };
        let all = conventions();
        let facts = &all["spans"][side];
        assert_eq!(format!("{:?}", span.span_kind), facts["kind"].as_str().unwrap());
        check_attributes(&span.name, facts, &attributes);
        let target = value("gen_ai.tool.name").or(value("gen_ai.prompt.name"));
        let name = target.map_or(method.clone(), |target| format!("{method} {target}"));
        assert_eq!(span.name, name);
        let is_error = matches!(span.status, Status::Error { .. });
        assert_eq!(is_error, value("error.type").is_some(), "{span:?}");
        return;
    }
    let operation = value("gen_ai.operation.name").unwrap_or_else(|| panic!("{span:?}"));
    let kind = if operation == "generate_content" { "chat" } else { &operation };
    let facts = &conventions()["spans"][kind];
    assert!(facts.is_object(), "{operation} is no span of the conventions");
    check_attributes(&span.name, facts, &attributes);
    let target = value(facts["name"].as_str().unwrap()).unwrap();
    assert_eq!(span.name, format!("{operation} {target}"));
    let wanted = if facts["kind"] == "Client" { SpanKind::Client } else { SpanKind::Internal };
    assert_eq!(span.span_kind, wanted, "{}", span.name);
    if let Status::Error { .. } = span.status {
        assert!(value("error.type").is_some(), "{}", span.name);
    }
}

fn check_metric(metric: &Metric) -> (BTreeSet<String>, f64) {
    let conventions = conventions();
    let facts = &conventions["metrics"][metric.name()];
    if metric.name().starts_with("toolbox.") {
        assert!(facts.is_null());
    } else {
        assert!(facts.is_object(), "{} is no metric of the conventions", metric.name());
        assert_eq!(metric.unit(), facts["unit"], "{}", metric.name());
    }
    let mut seen = BTreeSet::new();
    let mut sum = 0.0;
    let mut point = |attributes: Vec<KeyValue>, value: f64| {
        if facts.is_object() {
            check_attributes(metric.name(), facts, &attributes);
        }
        seen.extend(attributes.iter().map(|pair| format!("{}={}", pair.key, pair.value)));
        sum += value;
    };
    macro_rules! points {
        ($data:expr, $number:expr) => {
            match $data {
                MetricData::Histogram(all) => {
                    assert_eq!(facts["instrument"], "histogram", "{}", metric.name());
                    for one in all.data_points() {
                        let bounds: Vec<f64> = one.bounds().collect();
                        let wanted: Vec<f64> = facts["buckets"]
                            .as_array()
                            .unwrap()
                            .iter()
                            .map(|at| at.as_f64().unwrap())
                            .collect();
                        let is_near = |(own, wanted): (&f64, &f64)| (own - wanted).abs() < 1e-9;
                        assert!(
                            bounds.len() == wanted.len() && bounds.iter().zip(&wanted).all(is_near),
                            "{bounds:?}"
                        );
                        point(one.attributes().cloned().collect(), one.count() as f64);
                    }
                }
                MetricData::Sum(all) => {
                    assert!(all.is_monotonic());
                    if facts.is_object() {
                        assert_eq!(facts["instrument"], "counter", "{}", metric.name());
                    }
                    for one in all.data_points() {
                        point(one.attributes().cloned().collect(), $number(one.value()));
                    }
                }
                other => panic!("{other:?}"),
            }
        };
    }
    match metric.data() {
        AggregatedMetrics::F64(data) => points!(data, |value: f64| value),
        #[allow(clippy::cast_precision_loss)]
        AggregatedMetrics::U64(data) => points!(data, |value: u64| value as f64),
        AggregatedMetrics::I64(data) => panic!("{data:?}"),
    }
    (seen, sum)
}

/// The telemetry of a process, kept in memory.
struct Exported {
    metrics: InMemoryMetricExporter,
    meters: SdkMeterProvider,
    spans: InMemorySpanExporter,
    tracers: SdkTracerProvider,
}

impl Exported {
    fn new() -> Self {
        let metrics = InMemoryMetricExporter::default();
        let meters = SdkMeterProvider::builder().with_periodic_exporter(metrics.clone()).build();
        let spans = InMemorySpanExporter::default();
        let tracers = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
        Self { metrics, meters, spans, tracers }
    }

    fn sink(&self) -> toolbox::event::EventSink {
        use opentelemetry::metrics::MeterProvider as _;
        otel::metrics(&self.meters.meter("test"))
    }

    fn traced(&self) -> support::Traced {
        let layer = tracing_opentelemetry::layer().with_tracer(self.tracers.tracer("test"));
        support::traced(tracing_subscriber::registry().with(layer))
    }

    fn spans(&self) -> Vec<SpanData> {
        self.tracers.force_flush().unwrap();
        let mut all = self.spans.get_finished_spans().unwrap();
        // Other crates have spans of their own.
        all.retain(|span| {
            let mut pairs = span.attributes.iter();
            let target = pairs.find(|pair| pair.key.as_str() == "target");
            target.is_some_and(|pair| pair.value.as_str().starts_with("toolbox"))
        });
        all
    }

    /// The metrics by name: their attributes, and the sum of their values or of their counts.
    fn metrics(&self) -> BTreeMap<String, (BTreeSet<String>, f64)> {
        self.meters.force_flush().unwrap();
        let all = self.metrics.get_finished_metrics().unwrap();
        let last: Option<&ResourceMetrics> = all.last();
        let scopes = last.into_iter().flat_map(ResourceMetrics::scope_metrics);
        let metrics = scopes.flat_map(opentelemetry_sdk::metrics::data::ScopeMetrics::metrics);
        metrics.map(|metric| (metric.name().to_owned(), check_metric(metric))).collect()
    }
}

/// A script under the name of a service.
struct Served(ScriptedModel, &'static str);

impl Model for Served {
    fn name(&self) -> &'static str {
        "model-1"
    }

    fn provider(&self) -> &'static str {
        self.1
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let mut usage = Usage::new(1000, 50);
            usage.cache_read_input_tokens = 600;
            usage.cache_creation_input_tokens = 100;
            usage.reasoning_tokens = 20;
            let mut response = Model::respond(&self.0, request, deltas).await?.with_usage(usage);
            response.model = Some("model-1-2026-11".to_owned());
            response.id = Some("r1".to_owned());
            if response.reply.content() == "refuse" {
                response.reply.finish = Finish::Refusal;
            }
            Ok(response)
        })
    }
}

fn tools() -> Vec<Tool> {
    vec![
        Tool::new("ping", "Answers.").call(|_| "pong"),
        Tool::new("fails", "Fails.").call(|_| Err::<String, _>("no")),
    ]
}

#[tokio::test]
async fn spans_and_metrics_are_those_of_the_conventions() {
    let exported = Exported::new();
    let traced = exported.traced();
    let toolbox = ToolBox::builder()
        .tools(tools())
        .events(exported.sink())
        .record_content(true)
        .build()
        .unwrap();
    for (name, arguments) in
        [("ping", "{}"), ("fails", "{}"), ("made-up-name", "{}"), ("ping", "{")]
    {
        toolbox.call(ToolCall::new("c1", name, arguments)).await;
    }
    let price = Price::per_million(Money::from_dollars(1), Money::from_dollars(10));
    for (provider, name) in [("openai", "asker"), ("gcp.gemini", "gemini-asker")] {
        let script = ScriptedModel::new().calls("ping", "{}").text("Done.");
        let agent = Agent::builder(Served(script, provider))
            .name(name)
            .prices(PriceTable::new().model("openai", "*", price))
            .toolbox(toolbox.clone())
            .build()
            .unwrap();
        let context = ToolContext::new().with(Conversation::new("cli", "7"));
        agent.run("x").in_context(context).await.unwrap();
    }
    let failing = ScriptedModel::new().error(ModelErrorKind::RateLimited, "too many");
    let agent = Agent::builder(Served(failing, "openai")).toolbox(toolbox).build().unwrap();
    agent.run("x").await.unwrap_err();
    drop(traced);

    let spans = exported.spans();
    spans.iter().for_each(check_span);
    let mut names: Vec<&str> = spans.iter().map(|span| &*span.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names,
        [
            "chat model-1",
            "execute_tool fails",
            "execute_tool ping",
            "generate_content model-1",
            "invoke_agent agent",
            "invoke_agent asker",
            "invoke_agent gemini-asker",
        ]
    );
    let failed = spans.iter().filter(|span| matches!(span.status, Status::Error { .. }));
    let mut failed: Vec<&str> = failed.map(|span| &*span.name).collect();
    failed.sort_unstable();
    assert_eq!(
        failed,
        ["chat model-1", "execute_tool fails", "execute_tool ping", "invoke_agent agent"]
    );

    let metrics = exported.metrics();
    let wanted: BTreeSet<String> =
        conventions()["metrics"].as_object().unwrap().keys().cloned().collect();
    // The module `mcp` has the others.
    let wanted: BTreeSet<String> =
        wanted.into_iter().filter(|name| !name.starts_with("mcp.")).collect();
    let own: BTreeSet<String> =
        metrics.keys().filter(|name| !name.starts_with("toolbox.")).cloned().collect();
    assert_eq!(own, wanted);
    let total = |name: &str| metrics[name].1;
    // ping, fails, ping with a fault, and one of each agent; not the name that was made up.
    let near = |name: &str, wanted: f64| {
        assert!((total(name) - wanted).abs() < 1e-9, "{name}: {}", total(name));
    };
    near("gen_ai.execute_tool.duration", 5.0);
    assert!(!metrics["gen_ai.execute_tool.duration"].0.iter().any(|pair| pair.contains("made-up")));
    near("gen_ai.client.inference.duration", 5.0);
    near("gen_ai.invoke_agent.duration", 3.0);
    near("gen_ai.client.inference.usage.input_tokens", 4000.0);
    near("gen_ai.client.inference.usage.output_tokens", 200.0);
    near("gen_ai.client.inference.usage.cache_read.input_tokens", 2400.0);
    near("gen_ai.client.inference.usage.cache_write.input_tokens", 400.0);
    near("gen_ai.client.inference.usage.reasoning.output_tokens", 80.0);
    near("toolbox.client.inference.cost", 2.0 * 0.0015);
    near("toolbox.client.inference.unpriced_tokens", 2100.0);
    let duration = &metrics["gen_ai.client.inference.duration"].0;
    for pair in [
        "error.type=model.rate_limited",
        "gen_ai.operation.name=generate_content",
        "gen_ai.response.model=model-1-2026-11",
    ] {
        assert!(duration.contains(pair), "{pair}: {duration:?}");
    }
}

#[tokio::test]
async fn spans_belong_to_the_trace_that_a_call_comes_with() {
    otel::link_traces();
    let check = async |traceparent: &str, tracestate: Option<&str>, is_linked: bool| {
        let exported = Exported::new();
        let traced = exported.traced();
        let below = ScriptedModel::new().calls("ping", "{}").text("Done.");
        let below = Agent::builder(below).tools(tools()).build().unwrap();
        let toolbox = ToolBox::builder().tools(below.as_tool("worker", "Works")).build().unwrap();
        let trace = TraceContext {
            traceparent: traceparent.to_owned(),
            tracestate: tracestate.map(str::to_owned),
            baggage: None,
        };
        let context = ToolContext::new().with(trace);
        let call = ToolCall::new("c1", "worker", r#"{"task":"t"}"#);
        assert!(!toolbox.call_in(&context, call).await.is_error());
        drop(traced);
        let spans = exported.spans();
        assert!(spans.len() > 4, "{}", spans.len());
        let roots: Vec<_> = spans
            .iter()
            .filter(|span| {
                !spans.iter().any(|other| other.span_context.span_id() == span.parent_span_id)
            })
            .collect();
        let [root] = roots[..] else { panic!("{roots:?}") };
        assert_eq!(root.name, "execute_tool worker");
        let ids: BTreeSet<String> =
            spans.iter().map(|span| span.span_context.trace_id().to_string()).collect();
        assert_eq!(ids.len(), 1, "one trace: {ids:?}");
        assert_eq!(ids.contains(TRACE), is_linked, "{traceparent:?}");
        let parent = root.parent_span_id.to_string();
        assert_eq!(parent == "00f067aa0ba902b7", is_linked, "{traceparent:?}");
    };
    let sampled = format!("00-{TRACE}-00f067aa0ba902b7-01");
    check(&sampled, Some("vendor=1"), true).await;
    check(&sampled, Some("not a state;;=,"), true).await;
    check(&format!("01-{TRACE}-00f067aa0ba902b7-01-more"), None, true).await;
    for forged in [
        "",
        "00-0-0-01",
        &sampled.to_uppercase(),
        &format!("00-{TRACE}-0000000000000000-01"),
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        &format!("{sampled}\nx: y"),
        &format!("ff-{TRACE}-00f067aa0ba902b7-01"),
        &format!("00-{TRACE}-00f067aa0ba902b7-zz"),
    ] {
        check(forged, None, false).await;
    }
}
