//! `tools/call`: dispatches calls through the gate of the box.

use std::pin::pin;
use std::sync::{Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, ErrorData, ProgressNotificationParam,
    ProgressToken,
};
use rmcp::service::{Peer, RequestContext};
use tokio::sync::mpsc::{self, Receiver};
use tokio::sync::oneshot;

use super::caller::{Caller, MissingCapability, trace_of};
use super::head;
use super::result::{ResultFormat, written};
use super::running::ServiceActivity;
use super::shared::ServiceShared;
use super::text::ArgumentsText;
use super::version::ClientVersion;
use crate::call::{FailureKind, ToolCall};
use crate::context::{Conversation, Principal, Progress, ToolContext};
use crate::dispatch::Pass;

/// The key in `_meta` of a request for the number of agents running above the call in other
/// processes.
const DEPTH: &str = "toolbox/depth";

/// The maximum number of progress reports waiting to be sent; more are dropped, since a later one
/// supersedes them.
const WAITING_REPORTS: usize = 64;

/// Makes one call. A failure of the tool is a result; an error means that there is no such tool.
pub(super) async fn call(
    shared: &ServiceShared,
    running: &ServiceActivity,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let Some(arguments) = ArgumentsText::of(&context) else {
        // The SDK took an invalid message for a call.
        let message = "the parameters of `tools/call` cannot be read: a key is in them twice";
        return Err(ErrorData::invalid_params(message, None));
    };
    if let Err(wait) = running.admit(&principal(&context).unwrap_or_default()) {
        let wait = wait.as_micros().div_ceil(1000).max(1);
        return Ok(refused(&format!(
            "too many calls came at once; nothing was called, call again in {wait} ms"
        )));
    }
    let Some(_running) = running.call(shared.options.max_calls) else {
        return Ok(refused("the server is busy; nothing was called, call again later"));
    };
    let version = ClientVersion::of(&context);
    let cancellation = running.ending().child();
    let (reports, outbox) = mpsc::channel(WAITING_REPORTS);
    let token = context.meta.get_progress_token();
    let mut tool_context = call_context(&context).with_cancellation(cancellation.clone());
    if token.is_some() {
        tool_context = tool_context.with_progress(rising(move |report| {
            let _ = reports.try_send(report);
        }));
    }
    let wanted = ToolCall::new(context.id.to_string(), request.name.to_string(), arguments);
    let pass = Pass { approved: false, hidden: shared.options.list_deferred };
    let (done, is_done) = oneshot::channel::<()>();
    let work = async {
        let mut work = pin!(shared.toolbox.dispatch(Some(&tool_context), wanted, pass));
        let result = tokio::select! {
            result = &mut work => result,
            () = context.ct.cancelled() => {
                cancellation.cancel();
                work.await
            }
        };
        drop(done);
        result
    };
    let reports = send_progress(&context.peer, token, outbox, is_done);
    let (result, ()) = tokio::join!(work, reports);
    if result.failure_kind() == Some(FailureKind::NotFound)
        && shared.listing().get(&request.name).is_none()
    {
        return Err(ErrorData::invalid_params(result.text().into_owned(), None));
    }
    if version.is_modern()
        && let Some(error) = MissingCapability::in_result(&result)
    {
        return Err(error);
    }
    let limit = shared.toolbox.shared.settings.result_bytes;
    // Looked up after the call: the output schema is withdrawn meanwhile if the result of a mounted
    // server does not match it.
    let definition = shared.toolbox.get(&request.name);
    let output_schema =
        definition.as_ref().and_then(|tool| tool.definition().output_schema.as_ref());
    Ok(written(&result, ResultFormat { version: &version, output_schema, limit }))
}

fn refused(text: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// Returns the authenticated principal, over HTTP.
fn principal(context: &RequestContext<RoleServer>) -> Option<Principal> {
    head::get::<Principal>(context).cloned()
}

/// Returns the context of a call, with everything known of its request.
fn call_context(context: &RequestContext<RoleServer>) -> ToolContext {
    let mut tool_context = ToolContext::new().with(Caller::of(context));
    if let Some(trace) = trace_of(&context.meta) {
        tool_context = tool_context.with(trace);
    }
    // The client's value can only increase the depth, and so only restrict the call.
    let depth = context.meta.get(DEPTH).and_then(serde_json::Value::as_u64);
    if let Some(depth) = depth {
        tool_context = tool_context.with_depth(u32::try_from(depth).unwrap_or(u32::MAX));
    }
    if let Some(principal) = principal(context) {
        tool_context = tool_context.with(principal);
    }
    match head::get::<Conversation>(context) {
        Some(session) => tool_context.with(session.clone()),
        None => tool_context,
    }
}

/// Returns a sink that passes only reports with increased progress, as the protocol requires.
fn rising(sink: impl Fn(Progress) + Send + Sync) -> impl Fn(Progress) + Send + Sync {
    let last = Mutex::new(f64::NEG_INFINITY);
    move |report| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if report.done.is_finite() && report.done > *last {
            *last = report.done;
            sink(report);
        }
    }
}

/// Sends reports until the call is done, and then the remaining ones.
async fn send_progress(
    peer: &Peer<RoleServer>,
    token: Option<ProgressToken>,
    mut outbox: Receiver<Progress>,
    mut is_done: oneshot::Receiver<()>,
) {
    let Some(token) = token else { return };
    let send = async |report: Progress| {
        let mut params = ProgressNotificationParam::new(token.clone(), report.done);
        params.total = report.total.filter(|total| total.is_finite());
        params.message = report.message;
        // The transport detects a client that is gone.
        let _ = peer.notify_progress(params).await;
    };
    loop {
        tokio::select! {
            biased;
            report = outbox.recv() => match report {
                Some(report) => send(report).await,
                None => return,
            },
            _ = &mut is_done => break,
        }
    }
    while let Ok(report) = outbox.try_recv() {
        send(report).await;
    }
}
