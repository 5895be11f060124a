//! The telemetry that `--otlp` and the variables `OTEL_*` ask for: traces and metrics, sent by OTLP
//! over HTTP.
//!
//! The SDK reads its variables itself. The threads that it exports on have no runtime, so requests
//! are made on that of the program. A collector that cannot be reached is reported once, and
//! nothing waits for it but the end of the program, for [`LAST`] at most.

use std::env;
use std::error::Error as _;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer, SubscriberExt};

use super::outcome::complain;
use super::text::line;
use crate::collection::{ToolBox, ToolBoxBuilder};
use crate::event::EventSink;
use crate::otel;

/// The time that the end of the program waits for a collector.
const LAST: Duration = Duration::from_secs(2);

/// The time for one request to a collector, where no variable says another.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The name of the service, where no variable says another.
const SERVICE: &str = "toolbox";

/// The sink that records metrics, once there is one.
static SINK: OnceLock<EventSink> = OnceLock::new();

/// The exporters at work.
pub(super) struct Telemetry {
    traces: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
    client: CollectorClient,
}

/// Reports the calls of a box that is being built.
pub(super) fn observing(builder: ToolBoxBuilder) -> ToolBoxBuilder {
    match SINK.get() {
        Some(sink) => builder.events(sink.clone()),
        None => builder,
    }
}

/// Returns a box whose calls are reported.
pub(super) fn observed(toolbox: ToolBox) -> ToolBox {
    match SINK.get() {
        Some(sink) => toolbox.observed(sink.clone()),
        None => toolbox,
    }
}

/// Starts what the command line and the variables ask for, within a runtime; `None` for nothing.
///
/// # Errors
///
/// A reason, if the URL or a variable cannot be used.
pub(super) fn start(url: Option<&str>) -> Result<Option<Telemetry>, String> {
    let Some(wanted) = Wanted::read(url)? else { return Ok(None) };
    let client = CollectorClient::new()?;
    let failed = |error: ExporterBuildError| line(&error.to_string());
    let mut telemetry = Telemetry { traces: None, metrics: None, client: client.clone() };
    let resource = resource();
    if wanted.traces {
        let exporter = SpanExporter::builder().with_http().with_http_client(client.clone());
        let exporter = match url {
            Some(url) => exporter.with_endpoint(signal(url, "traces")),
            None => exporter,
        };
        let exporter = exporter.build().map_err(failed)?;
        let builder = SdkTracerProvider::builder().with_resource(resource.clone());
        let traces = builder.with_batch_exporter(exporter).build();
        listen(&traces);
        telemetry.traces = Some(traces);
    }
    if wanted.metrics {
        let exporter = MetricExporter::builder().with_http().with_http_client(client);
        let exporter = match url {
            Some(url) => exporter.with_endpoint(signal(url, "metrics")),
            None => exporter,
        };
        let exporter = exporter.build().map_err(failed)?;
        let builder = SdkMeterProvider::builder().with_resource(resource);
        let metrics = builder.with_periodic_exporter(exporter).build();
        let _ = SINK.set(otel::metrics(&metrics.meter(SERVICE)));
        telemetry.metrics = Some(metrics);
    }
    Ok(Some(telemetry))
}

impl Telemetry {
    /// Sends what waits, for a bounded time.
    pub(super) async fn end(self) {
        let Self { traces, metrics, client } = self;
        let (done, sent) = oneshot::channel();
        // Not a thread of the runtime, which would wait for it once more.
        std::thread::spawn(move || {
            if let Some(traces) = traces {
                let _ = traces.shutdown_with_timeout(LAST);
            }
            if let Some(metrics) = metrics {
                let _ = metrics.shutdown_with_timeout(LAST);
            }
            let _ = done.send(());
        });
        if tokio::time::timeout(LAST, sent).await.is_err() {
            client.report("the collector did not take the last of it in time");
        }
    }
}

/// The signals to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wanted {
    traces: bool,
    metrics: bool,
}

impl Wanted {
    fn read(url: Option<&str>) -> Result<Option<Self>, String> {
        if let Some(url) = url {
            check(url)?;
        }
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let general = url.is_some() || variable("OTEL_EXPORTER_OTLP_ENDPOINT").is_some();
        let wants = |exporter: &str, endpoint: &str| match variable(exporter).as_deref() {
            None => general || variable(endpoint).is_some(),
            Some("otlp") => true,
            Some("none") => false,
            Some(other) => {
                let other = line(other);
                complain(&format!(
                    "{exporter} is {other}: there are otlp and none; nothing is sent"
                ));
                false
            }
        };
        let traces = wants("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let metrics = wants("OTEL_METRICS_EXPORTER", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
        if traces || metrics {
            for name in ["", "_TRACES", "_METRICS"] {
                let name = format!("OTEL_EXPORTER_OTLP{name}_PROTOCOL");
                if variable(&name).is_some_and(|value| value == "grpc") {
                    complain(&format!(
                        "{name} is grpc: telemetry is sent over HTTP, mostly to port 4318 instead of 4317"
                    ));
                }
            }
        }
        Ok((traces || metrics).then_some(Self { traces, metrics }))
    }
}

/// Returns a variable that is not empty.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn check(url: &str) -> Result<(), String> {
    let parsed = reqwest::Url::parse(url).ok();
    let Some(parsed) = parsed.filter(|url| matches!(url.scheme(), "http" | "https")) else {
        return Err("--otlp takes the URL of a collector, such as http://127.0.0.1:4318".to_owned());
    };
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(
            "every user of this machine can read a password on a command line, and has now: take another one, and give it in the variable OTEL_EXPORTER_OTLP_HEADERS"
                .to_owned(),
        );
    }
    Ok(())
}

/// Returns the address for a signal at a collector.
fn signal(url: &str, name: &str) -> String {
    format!("{}/v1/{name}", url.trim_end_matches('/'))
}

/// Returns the description of this process: what the variables say, and a name in any case.
fn resource() -> Resource {
    let is_named = variable("OTEL_SERVICE_NAME").is_some()
        || variable("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|all| all.contains("service.name="));
    let builder = Resource::builder();
    let builder = if is_named { builder } else { builder.with_service_name(SERVICE) };
    builder.build()
}

/// Sends the spans of this crate, without the events within them, which may hold content.
fn listen(traces: &SdkTracerProvider) {
    let is_own = filter_fn(|metadata| {
        metadata.is_span()
            && metadata.target().starts_with("toolbox")
            && *metadata.level() <= Level::INFO
    });
    let layer = tracing_opentelemetry::layer()
        .with_tracer(traces.tracer(SERVICE))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_target(false)
        .with_filter(is_own.with_max_level_hint(LevelFilter::INFO));
    otel::link_traces();
    let subscriber = tracing_subscriber::registry().with(layer);
    if tracing::subscriber::set_global_default(subscriber).is_err() {
        complain("traces are not sent: this process has a subscriber of its own");
    }
}

/// The HTTP client for a collector.
#[derive(Debug, Clone)]
struct CollectorClient {
    client: reqwest::Client,
    runtime: Handle,
    /// `true` once a failure was reported.
    has_reported: Arc<AtomicBool>,
}

impl CollectorClient {
    fn new() -> Result<Self, String> {
        let timeout = variable("OTEL_EXPORTER_OTLP_TIMEOUT").and_then(|text| text.parse().ok());
        let client = reqwest::Client::builder()
            .timeout(timeout.map_or(TIMEOUT, Duration::from_millis))
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("toolbox/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("no HTTP client can be made: {error}"))?;
        Ok(Self { client, runtime: Handle::current(), has_reported: Arc::default() })
    }

    /// Reports a failure, once.
    fn report(&self, reason: &str) {
        if !self.has_reported.swap(true, Ordering::Relaxed) {
            complain(&format!("telemetry is lost: {}", line(reason)));
        }
    }
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let to = request.uri().clone();
        let to = format!("{}{}", to.host().unwrap_or_default(), to.path());
        let request = reqwest::Request::try_from(request)?;
        let sending = self.runtime.spawn(sent(self.client.clone(), request));
        match sending.await {
            Ok(Ok(response)) => {
                if !response.status().is_success() {
                    self.report(&format!("{to} answered {}", response.status()));
                }
                Ok(response)
            }
            Ok(Err(error)) => {
                let error = error.without_url();
                let mut reason = format!("{to}: {error}");
                let mut source = error.source();
                while let Some(cause) = source {
                    let _ = write!(reason, ": {cause}");
                    source = cause.source();
                }
                self.report(&reason);
                Err(error.into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Sends a request, and takes the answer of a collector, which is short.
async fn sent(
    client: reqwest::Client,
    request: reqwest::Request,
) -> Result<Response<Bytes>, reqwest::Error> {
    const LONGEST: usize = 64 << 10;
    let mut response = client.execute(request).await?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let left = LONGEST - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(left)]);
    }
    let mut answer = Response::new(Bytes::from(body));
    *answer.status_mut() = response.status();
    *answer.headers_mut() = std::mem::take(response.headers_mut());
    Ok(answer)
}
