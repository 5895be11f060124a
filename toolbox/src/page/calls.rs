//! Calls that the page makes: a check of arguments, a call with its progress, a cancellation.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use hyper::body::Frame;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::admission::Admitted;
use super::inner::PageInner;
use super::reply::refused;
use super::servers::FollowedLines;
use super::{offers, servers};
use crate::call::{ArgumentsError, Faults, ToolCall, ToolResult};
use crate::context::{CancellationToken, Conversation, OutputItem, ToolContext, passing_on};
use crate::dialect::{EstimatedTokens, TokenCounter as _};

/// The most calls of the page that run at once.
const MAX_CALLS: usize = 64;

/// The reports of a call that wait for a slow browser; further ones are dropped.
const WAITING: usize = 32;
/// The items of a tool that streams that wait to be passed on; then the tool waits.
const ITEMS: usize = 16;

/// The most bytes of the text of an event.
#[cfg(feature = "agent")]
const MAX_EVENT_TEXT: usize = 64 << 10;

/// The interval at which the lines of a server are passed on.
const LINES: Duration = Duration::from_millis(250);

/// The time for lines of a server that it printed before its result.
const LATE_LINES: Duration = Duration::from_millis(50);

/// A call, as the page asks for it.
#[derive(Deserialize)]
pub(super) struct WantedCall {
    /// The id, by which the page cancels the call.
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) kind: CalledKind,
    /// The name of the tool or the prompt, or the URI of the resource.
    pub(super) tool: String,
    /// The tool whose app makes the call; the name is that of its server then.
    #[serde(default)]
    pub(super) app: Option<String>,
    /// The arguments as JSON text, so that no number is rounded on the way.
    pub(super) arguments: String,
}

/// The kind of what is called.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CalledKind {
    #[default]
    Tool,
    Prompt,
    Resource,
}

/// Returns the faults of arguments, or the repairs that the gate would make.
pub(super) fn checked(page: &PageInner, wanted: WantedCall) -> Value {
    let call = ToolCall::new(wanted.id, wanted.tool, wanted.arguments);
    match page.options.toolbox.check(&call) {
        Ok(repairs) => json!({
            "repairs": repairs.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }),
        Err(refusal) => json!({
            "refusal": refusal.text(),
            "code": refusal.code(),
            "faults": faults(&refusal),
        }),
    }
}

/// Returns the faults that a refusal lists, by the paths of their values.
pub(super) fn faults(result: &ToolResult) -> Value {
    let error = result.source().and_then(|source| source.downcast_ref::<ArgumentsError>());
    error.map_or_else(|| json!([]), |error| shown_faults(error.faults()))
}

/// Returns faults by the paths of their values.
pub(super) fn shown_faults(faults: &Faults) -> Value {
    faults.iter().map(|fault| json!({"path": fault.path, "message": fault.to_string()})).collect()
}

/// Makes a call. The response has a line of JSON for each report of progress, and one for the
/// result.
pub(super) fn call(page: &Arc<PageInner>, wanted: WantedCall, caller: &Admitted) -> Response {
    let token = CancellationToken::new();
    let id = if wanted.id.is_empty() { "page".to_owned() } else { wanted.id };
    {
        let mut calls = page.calls.lock();
        if calls.contains_key(&id) {
            return refused(StatusCode::CONFLICT, "a call of this id runs already");
        }
        if calls.len() >= MAX_CALLS {
            let why = "too many calls of the page run; wait for one, or cancel it";
            return refused(StatusCode::TOO_MANY_REQUESTS, why);
        }
        calls.insert(id.clone(), token.clone());
    }
    let guard = CallGuard { page: Arc::clone(page), id: id.clone(), token: token.clone() };
    let (sender, receiver) = mpsc::channel(WAITING);
    let reports = sender.clone();
    let context = ToolContext::new()
        .with(Conversation::new("page", caller.number.to_string()))
        .with_shared_approver(Arc::new(page.options.inbox.clone()))
        .with_asker(page.options.inbox.clone())
        .with_cancellation(token.clone())
        .with_progress(move |progress| {
            let report = json!({"progress": {
                "done": progress.done,
                "total": progress.total,
                "message": progress.message,
            }});
            // A browser that does not read loses reports, and no tool waits for it.
            let _ = reports.try_send(CallLine::Report(line(&report)));
        });
    let (outputs, mut items) = mpsc::channel(ITEMS);
    let mut context = context.with_outputs(outputs);
    // What a prompt or a resource asks belongs to this call of the page, too.
    context.call_id.clone_from(&id);
    let toolbox = page.options.toolbox.clone();
    let (name, arguments) = (wanted.tool, wanted.arguments);
    let (page, session) = (Arc::clone(page), caller.number);
    let mut lines = servers::lines_of(&page, &name);
    tokio::spawn(async move {
        let _guard = guard;
        let began = Instant::now();
        let result = match wanted.kind {
            CalledKind::Tool => {
                let call = ToolCall::new(id.clone(), name.clone(), arguments);
                let call = toolbox.call_in(&context, call);
                let pass = |item: OutputItem| {
                    let row = json!({"item": {"index": item.index, "text": item.text()}});
                    let sender = sender.clone();
                    // While the browser does not read, the tool waits.
                    async move {
                        let _ = sender.send(CallLine::Report(line(&row))).await;
                    }
                };
                let call = passing_on(call, &mut items, pass);
                let result = with_lines(call, &mut lines, &sender).await;
                let mut shown = shown(&result, began.elapsed());
                page.large.take((&id, session), (&toolbox, &context), &result, &mut shown).await;
                shown
            }
            CalledKind::Prompt => offers::prompt(&toolbox, &context, &name, &arguments).await,
            CalledKind::Resource => offers::resource(&toolbox, &context, &name).await,
        };
        drop(context);
        let took = began.elapsed().as_secs_f64() * 1000.0;
        let lines = lines.map_or_else(Vec::new, |mut lines| lines.take());
        let result = line(&json!({"result": result, "took_ms": took, "lines": lines}));
        let _ = sender.send(CallLine::Last(result)).await;
    });
    let mut response = Response::new(Body::new(LineBody { lines: Some(receiver), token }));
    let lines = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, lines);
    response
}

/// Waits for a call of a server's tool, and passes on what the server prints and logs meanwhile.
async fn with_lines(
    call: impl Future<Output = ToolResult>,
    lines: &mut Option<FollowedLines>,
    sender: &mpsc::Sender<CallLine>,
) -> ToolResult {
    let Some(lines) = lines else { return call.await };
    tokio::pin!(call);
    loop {
        match timeout(LINES, &mut call).await {
            Ok(result) => {
                // The two streams of a server are read side by side.
                sleep(LATE_LINES).await;
                return result;
            }
            Err(_) => {
                // A browser that does not read gets them with the result.
                if let Ok(place) = sender.try_reserve() {
                    let new = lines.take();
                    if !new.is_empty() {
                        place.send(CallLine::Report(line(&json!({"lines": new}))));
                    }
                }
            }
        }
    }
}

/// Cancels a call; returns `false` if none of this id runs.
pub(super) fn cancel(page: &PageInner, id: &str) -> bool {
    let calls = page.calls.lock();
    calls.get(id).map(CancellationToken::cancel).is_some()
}

/// Returns the end of a call as the page shows a result: the text of it alone.
#[cfg(feature = "agent")]
pub(super) fn shown_end(end: &crate::event::ToolFinished) -> Value {
    let text = end.text.as_deref().unwrap_or(&end.preview);
    json!({
        "content": [{"type": "text", "text": crate::text::cut(text, MAX_EVENT_TEXT)}],
        "is_error": end.is_error(),
        "is_pending": end.pending,
        "code": end.code,
        "for_user": end.user_text,
        "repairs": end.repairs.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "edited": null,
        "handle": null,
        "omitted_bytes": 0,
        "bytes": end.bytes,
        "tokens": EstimatedTokens.count(text),
        "took_ms": end.took.as_secs_f64() * 1000.0,
        "faults": [],
    })
}

/// Returns a result as the page shows it.
pub(super) fn shown(result: &ToolResult, took: Duration) -> Value {
    let text = result.text();
    let mut value = json!({
        "content": result.content(),
        "is_error": result.is_error(),
        "is_pending": result.is_pending(),
        "code": result.code(),
        "for_user": result.user_text(),
        "repairs": result.repairs().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "edited": result.edited().map(|arguments| arguments.as_str().to_owned()),
        "handle": result.handle(),
        "omitted_bytes": result.omitted_bytes(),
        "bytes": text.len(),
        "tokens": EstimatedTokens.count(&text),
        "took_ms": took.as_secs_f64() * 1000.0,
        "faults": faults(result),
    });
    if let Some(structured) = result.structured_content() {
        // As text, since a browser would round large numbers.
        value["structured"] = structured.to_string().into();
    }
    if let Some(meta) = result.meta() {
        value["meta"] = json!(meta);
    }
    value
}

fn line(value: &Value) -> Bytes {
    let mut line = value.to_string();
    line.push('\n');
    line.into()
}

/// Takes a call off the list when it ends.
struct CallGuard {
    page: Arc<PageInner>,
    id: String,
    token: CancellationToken,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.page.calls.lock().remove(&self.id);
        self.token.cancel();
    }
}

/// A line of the answer to a call.
enum CallLine {
    Report(Bytes),
    /// The result. Something that keeps the context of the call may keep the channel open.
    Last(Bytes),
}

/// Lines as a body: dropped, it cancels what writes them.
struct LineBody {
    /// `None` after the last line.
    lines: Option<mpsc::Receiver<CallLine>>,
    token: CancellationToken,
}

impl HttpBody for LineBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(lines) = &mut self.lines else { return Poll::Ready(None) };
        let line = match ready!(lines.poll_recv(context)) {
            None => return Poll::Ready(None),
            Some(CallLine::Report(line)) => line,
            Some(CallLine::Last(line)) => {
                self.lines = None;
                line
            }
        };
        Poll::Ready(Some(Ok(Frame::data(line))))
    }
}

impl Drop for LineBody {
    fn drop(&mut self) {
        self.token.cancel();
    }
}
