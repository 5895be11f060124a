//! The HTTP client that all formats share.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use backon::{ExponentialBuilder, Retryable};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Request, Response, Url};
use tokio::time::{Instant, timeout};

use super::failure::{ServiceFailure, snippet, unread};
use super::retry::{asked_wait, may_pass};
use crate::call::chain;
use crate::model::{
    Delta, Deltas, ModelError, ModelErrorKind, ModelRequest, ModelResponse, Part, Reply,
};
use crate::text::without_mark;
use crate::wire::{Events, Format, ResponseStream, WireError};

/// The time limit for connecting to the service.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of bytes that are read of a failure response.
const MAX_FAILURE_BYTES: usize = 64 << 10;

/// The time for which a stream is read on after its reply is complete.
const LINGER: Duration = Duration::from_millis(50);

/// The shortest secret that is removed from messages; a shorter one would match parts of words.
const MIN_SECRET: usize = 6;

/// The header that carries the key.
#[derive(Clone, Copy)]
#[allow(
    dead_code,
    reason = "each service needs one of them, and may be the only one that is built"
)]
pub(super) enum Auth {
    /// Into `Authorization: Bearer`.
    Bearer,
    /// Into a header of its own.
    Header(&'static str),
}

/// The paths of a service below its base address.
pub(super) struct Endpoint {
    pub(super) path: Cow<'static, str>,
    pub(super) query: Option<(&'static str, &'static str)>,
}

impl Endpoint {
    #[allow(
        dead_code,
        reason = "not every service has a fixed path, and one may be the only one that is built"
    )]
    pub(super) fn of(path: &'static str) -> Self {
        Self { path: Cow::Borrowed(path), query: None }
    }
}

/// The settings of a model of a service.
#[derive(Clone)]
pub(super) struct ServiceSettings {
    provider: &'static str,
    model: String,
    key: String,
    auth: Auth,
    /// The header that names the version of the API.
    pub(super) version: Option<(&'static str, &'static str)>,
    pub(super) base_url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) retries: usize,
    pub(super) backoff: (Duration, Duration),
    pub(super) max_reply_bytes: usize,
}

/// A model of a service, in whatever format; clones share the connections.
#[derive(Clone)]
pub(super) struct HttpModel(Arc<HttpModelInner>);

struct HttpModelInner {
    settings: ServiceSettings,
    /// Built by the first request, so that a wrong setting is an error of that request and not a
    /// panic before.
    ready: OnceLock<Result<PreparedClient, ModelError>>,
}

struct PreparedClient {
    client: Client,
    url: Url,
    headers: HeaderMap,
}

/// An attempt that failed.
struct FailedAttempt {
    error: ModelError,
    /// `true` if the request may be sent again.
    again: bool,
}

impl HttpModel {
    pub(super) fn new(provider: &'static str, key: &str, auth: Auth, model: String) -> Self {
        let settings = ServiceSettings {
            provider,
            model,
            key: key.trim().to_owned(),
            auth,
            version: None,
            base_url: String::new(),
            headers: Vec::new(),
            timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(120),
            retries: 3,
            backoff: (Duration::from_millis(500), Duration::from_secs(60)),
            max_reply_bytes: 64 << 20,
        };
        Self(Arc::new(HttpModelInner { settings, ready: OnceLock::new() }))
    }

    pub(super) fn set(&mut self, change: impl FnOnce(&mut ServiceSettings)) {
        let mut settings = self.0.settings.clone();
        change(&mut settings);
        self.0 = Arc::new(HttpModelInner { settings, ready: OnceLock::new() });
    }

    pub(super) fn model(&self) -> &str {
        &self.0.settings.model
    }

    /// Returns `true` if the service is at a domain, or below it.
    pub(super) fn is_at(&self, domain: &str) -> bool {
        let url = Url::parse(&self.0.settings.base_url).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        host.strip_suffix(domain).is_some_and(|below| below.is_empty() || below.ends_with('.'))
    }

    /// Shows the model and the host; the other settings may be secret.
    pub(super) fn fmt_as(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = Url::parse(&self.0.settings.base_url).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        f.debug_struct(name)
            .field("model", &self.model())
            .field("host", &host)
            .finish_non_exhaustive()
    }

    /// Sends a request, and retries it where that may help.
    pub(super) async fn respond<F: Format>(
        &self,
        endpoint: Endpoint,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelResponse, ModelError> {
        let limit = self.0.settings.timeout;
        match timeout(limit, self.retried::<F>(endpoint, request, deltas)).await {
            Ok(result) => result,
            Err(_) => {
                let message = format!("there was no answer within {limit:?}");
                Err(ModelError::new(ModelErrorKind::TimedOut, message))
            }
        }
    }

    async fn retried<F: Format>(
        &self,
        endpoint: Endpoint,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelResponse, ModelError> {
        let settings = &self.0.settings;
        let ready = self.0.ready.get_or_init(|| self.prepare()).as_ref().map_err(Clone::clone)?;
        let body = F::body(request, &settings.model, deltas.are_wanted());
        let template = ready.request(&endpoint, body, deltas.are_wanted());

        let began = Instant::now();
        let handed_on = AtomicBool::new(false);
        let (first, longest) = settings.backoff;
        let waits = ExponentialBuilder::new()
            .with_min_delay(first)
            .with_max_delay(longest)
            .with_max_times(settings.retries)
            .with_jitter();
        let attempt = || async {
            // A text body can always be sent again; it is shared, not copied.
            let request = template.try_clone().ok_or_else(|| {
                self.failed(ModelErrorKind::Other, "the request cannot be sent twice", false)
            })?;
            self.attempt::<F>(&ready.client, request, deltas, &handed_on).await
        };
        attempt
            .retry(waits)
            // A retry would send the first deltas to the receiver a second time.
            .when(|failed: &FailedAttempt| failed.again && !handed_on.load(Ordering::Relaxed))
            .adjust(|failed, wait| {
                let wait = match (wait?, failed.error.retry_after()) {
                    // A retry earlier than the service asks for would be refused again.
                    (_, Some(asked)) if asked > longest => return None,
                    (_, Some(asked)) => asked,
                    (wait, None) => wait.min(longest),
                };
                (began.elapsed() + wait < settings.timeout).then_some(wait)
            })
            .notify(|failed, wait| {
                let (provider, error) = (settings.provider, &failed.error);
                tracing::debug!(provider, %error, ?wait, "a request to a model is sent again");
            })
            .await
            .map_err(|failed| failed.error)
    }

    fn prepare(&self) -> Result<PreparedClient, ModelError> {
        let settings = &self.0.settings;
        let invalid = |what: &str| {
            let message = format!("{what} for the model `{}` is not valid", settings.model);
            ModelError::new(ModelErrorKind::InvalidRequest, message)
        };
        let url = Url::parse(&settings.base_url).map_err(|_| invalid("the base URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(invalid("the base URL"));
        }
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some((name, value)) = settings.version {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if !settings.key.is_empty() {
            let (name, value) = match settings.auth {
                Auth::Bearer => (AUTHORIZATION, format!("Bearer {}", settings.key)),
                Auth::Header(name) => (HeaderName::from_static(name), settings.key.clone()),
            };
            headers.insert(name, secret(&value).ok_or_else(|| invalid("the key"))?);
        }
        for (name, value) in &settings.headers {
            let parsed = name.parse::<HeaderName>().ok().zip(secret(value));
            let (parsed, value) = parsed.ok_or_else(|| invalid(&format!("the header {name:?}")))?;
            headers.insert(parsed, value);
        }
        let client = Client::builder()
            .user_agent(concat!("toolbox/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .build()
            .map_err(|error| ModelError::from_source(ModelErrorKind::Other, error))?;
        Ok(PreparedClient { client, url, headers })
    }

    async fn attempt<F: Format>(
        &self,
        client: &Client,
        request: Request,
        deltas: Deltas<'_>,
        handed_on: &AtomicBool,
    ) -> Result<ModelResponse, FailedAttempt> {
        let settings = &self.0.settings;
        let sent = client.execute(request);
        // A complete reply may take long, but a stream begins early.
        let response = if deltas.are_wanted() {
            timeout(settings.idle_timeout, sent).await.map_err(|_| self.silent())?
        } else {
            sent.await
        };
        let response = response.map_err(|error| self.broken(error))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let emit = |delta: Delta| {
            if deltas.are_wanted() {
                handed_on.store(true, Ordering::Relaxed);
                deltas.send(delta);
            }
        };
        if deltas.are_wanted() && is_events(&response) {
            return self.streamed::<F>(response, emit).await;
        }
        let body = self.whole(response).await?;
        self.read_whole::<F>(&body, emit)
    }

    /// Reads a body that was not streamed: a reply, or events with the wrong content type. Nothing
    /// is emitted before all of it is known to be a reply.
    fn read_whole<F: Format>(
        &self,
        body: &str,
        emit: impl Fn(Delta),
    ) -> Result<ModelResponse, FailedAttempt> {
        if is_events_text(body) {
            return self.read_events::<F>(body, emit);
        }
        let response = F::response(body).map_err(|error| self.unreadable(error, body))?;
        emit_whole(&response.reply, emit);
        Ok(response)
    }

    /// Reads events as they come.
    async fn streamed<F: Format>(
        &self,
        mut response: Response,
        emit: impl Fn(Delta),
    ) -> Result<ModelResponse, FailedAttempt> {
        let settings = &self.0.settings;
        let mut stream = F::Stream::default();
        let mut parser = Events::new().max_event_bytes(settings.max_reply_bytes);
        let mut size = 0_usize;
        let mut broken = None;
        while !stream.is_done() {
            let chunk = match timeout(settings.idle_timeout, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => break,
                Ok(Err(error)) => {
                    broken = Some(self.broken(error));
                    break;
                }
                Err(_) => {
                    broken = Some(self.silent());
                    break;
                }
            };
            if size == 0 && is_json(&chunk) {
                // A complete reply with the content type of events, or with none.
                let body = timeout(settings.idle_timeout, self.rest(chunk.to_vec(), response));
                let body = body.await.map_err(|_| self.silent())??;
                return self.read_whole::<F>(&body, emit);
            }
            size = size.saturating_add(chunk.len());
            if size > settings.max_reply_bytes {
                return Err(self.too_large());
            }
            for data in parser.push(&chunk).map_err(|_| self.no_text())? {
                let taken = stream.event(&data, &mut |delta| emit(delta));
                taken.map_err(|error| self.unreadable(error, &data))?;
            }
        }
        if stream.is_done() {
            // The body usually ends here, and a connection that was read to its end can be used
            // again. A server that keeps it open is not waited for.
            let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
            timeout(LINGER, rest).await.ok();
        } else if broken.is_none() && parser.waiting() > 0 {
            // The last event lacks its blank line, or the stream was cut within it.
            if let Ok(Some(data)) = parser.finish() {
                let is_whole = serde_json::from_str::<serde::de::IgnoredAny>(&data).is_ok();
                match stream.event(&data, &mut |delta| emit(delta)) {
                    Err(WireError::Invalid(_)) if !is_whole => {}
                    taken => taken.map_err(|error| self.unreadable(error, &data))?,
                }
            }
        }
        // A reply that was complete before its connection broke is valid.
        stream.finish().map_err(|error| broken.unwrap_or_else(|| self.unreadable(error, "{")))
    }

    /// Reads events that came in one body.
    fn read_events<F: Format>(
        &self,
        body: &str,
        emit: impl Fn(Delta),
    ) -> Result<ModelResponse, FailedAttempt> {
        let mut stream = F::Stream::default();
        let mut parser = Events::new().max_event_bytes(self.0.settings.max_reply_bytes);
        let mut events = parser.push(body.as_bytes()).map_err(|_| self.no_text())?;
        events.extend(parser.finish().map_err(|_| self.no_text())?);
        let mut deltas = Vec::new();
        for data in events {
            let taken = stream.event(&data, &mut |delta| deltas.push(delta));
            taken.map_err(|error| self.unreadable(error, &data))?;
        }
        let response = stream.finish().map_err(|error| self.unreadable(error, body))?;
        deltas.into_iter().for_each(emit);
        Ok(response)
    }

    /// Reads a body to its end.
    async fn whole(&self, response: Response) -> Result<String, FailedAttempt> {
        self.rest(Vec::new(), response).await
    }

    /// Reads the rest of a body whose beginning was read.
    async fn rest(&self, read: Vec<u8>, response: Response) -> Result<String, FailedAttempt> {
        let body = self.bytes(read, response, self.0.settings.max_reply_bytes).await?;
        String::from_utf8(body).map_err(|_| self.no_text())
    }

    async fn bytes(
        &self,
        mut body: Vec<u8>,
        mut response: Response,
        most: usize,
    ) -> Result<Vec<u8>, FailedAttempt> {
        // A service that has sent the head has finished the reply: a body that stalls is a broken
        // connection.
        let idle = self.0.settings.idle_timeout;
        loop {
            let chunk = timeout(idle, response.chunk()).await.map_err(|_| self.silent())?;
            let Some(chunk) = chunk.map_err(|error| self.broken(error))? else { break };
            if body.len().saturating_add(chunk.len()) > most {
                return Err(self.too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Reads a response that is no success.
    async fn refused(&self, response: Response) -> FailedAttempt {
        let status = response.status();
        let headers = response.headers();
        let (again, wait) = (may_pass(status, headers), asked_wait(headers, SystemTime::now()));
        let body = timeout(
            self.0.settings.idle_timeout,
            self.bytes(Vec::new(), response, MAX_FAILURE_BYTES),
        );
        // The status suffices where the body does not arrive.
        let body = body.await.ok().and_then(Result::ok).unwrap_or_default();
        let failure = ServiceFailure::of(&String::from_utf8_lossy(&body));
        let mut failed =
            self.failed(failure.kind(status), &failure.message, again && !failure.is_final());
        failed.error = failed.error.with_status(status.as_u16());
        if let Some(wait) = wait {
            failed.error = failed.error.with_retry_after(wait);
        }
        failed
    }

    fn failed(&self, kind: ModelErrorKind, message: &str, again: bool) -> FailedAttempt {
        FailedAttempt { error: ModelError::new(kind, self.scrubbed(message)), again }
    }

    fn broken(&self, error: reqwest::Error) -> FailedAttempt {
        let kind = if error.is_builder() {
            ModelErrorKind::InvalidRequest
        } else if error.is_timeout() {
            ModelErrorKind::TimedOut
        } else {
            ModelErrorKind::Connection
        };
        // The address may hold a password or a key.
        self.failed(kind, &chain(&error.without_url()), kind.is_retryable())
    }

    fn silent(&self) -> FailedAttempt {
        let message = format!("the service was silent for {:?}", self.0.settings.idle_timeout);
        self.failed(ModelErrorKind::TimedOut, &message, true)
    }

    fn too_large(&self) -> FailedAttempt {
        let most = self.0.settings.max_reply_bytes;
        let message = format!("the reply is larger than {most} bytes");
        // The next reply would be as large, and costs as much.
        self.failed(ModelErrorKind::InvalidResponse, &message, false)
    }

    fn no_text(&self) -> FailedAttempt {
        self.failed(ModelErrorKind::InvalidResponse, "the reply is not UTF-8", true)
    }

    fn unreadable(&self, error: WireError, text: &str) -> FailedAttempt {
        let (kind, mut message, again) = unread(error);
        if kind == ModelErrorKind::InvalidResponse && !text.trim_start().starts_with('{') {
            // Usually a page of a proxy: its text says more than the parser's error.
            message.push_str(": ");
            message.push_str(&snippet(text));
        }
        self.failed(kind, &message, again)
    }

    /// Returns a message without secrets, masked ones included, in case the service repeats them.
    fn scrubbed(&self, message: &str) -> String {
        let settings = &self.0.settings;
        let secrets = settings.headers.iter().map(|(_, value)| value).chain([&settings.key]);
        let mut message = message.to_owned();
        for secret in secrets.filter(|secret| secret.len() >= MIN_SECRET) {
            message = message.replace(secret.as_str(), "[secret]");
        }
        if message.contains("***") {
            let words = message.split(' ');
            let words = words.map(|word| if word.contains("***") { "[secret]" } else { word });
            message = words.collect::<Vec<_>>().join(" ");
        }
        message
    }
}

impl PreparedClient {
    fn request(&self, endpoint: &Endpoint, body: String, stream: bool) -> Request {
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(endpoint.path.split('/'));
        }
        if let Some((key, value)) = endpoint.query {
            url.query_pairs_mut().append_pair(key, value);
        }
        let mut request = Request::new(Method::POST, url);
        request.headers_mut().clone_from(&self.headers);
        let accept = if stream { "text/event-stream" } else { "application/json" };
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
        *request.body_mut() = Some(body.into());
        request
    }
}

/// Returns a header value that `Debug` does not show.
fn secret(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Returns `true` if the content type of a response is that of events, or missing.
fn is_events(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_none_or(|kind| kind.to_ascii_lowercase().contains("event-stream"))
}

/// Returns `true` if bytes begin a JSON document, which no event does.
fn is_json(bytes: &[u8]) -> bool {
    without_mark(bytes).trim_ascii_start().first().is_some_and(|first| matches!(first, b'{' | b'['))
}

fn is_events_text(body: &str) -> bool {
    let body = body.trim_start_matches('\u{feff}').trim_start();
    ["data:", "event:", ":"].iter().any(|start| body.starts_with(start))
}

/// Emits the deltas of a reply that came complete though a stream was requested.
fn emit_whole(reply: &Reply, emit: impl Fn(Delta)) {
    for (index, part) in reply.parts.iter().enumerate() {
        match part {
            Part::Text { text, .. } => emit(Delta::Text(text.clone())),
            Part::Reasoning { text, .. } if !text.is_empty() => {
                emit(Delta::Reasoning(text.clone()));
            }
            Part::Call { call, .. } => {
                let (id, name) = (call.id.clone(), call.name.clone());
                emit(Delta::Call { index, id, name });
                emit(Delta::Arguments { index, text: call.arguments.as_str().to_owned() });
            }
            Part::Reasoning { .. } | Part::Other(_) => {}
        }
    }
}
