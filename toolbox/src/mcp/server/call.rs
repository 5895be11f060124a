//! `tools/call`: dispatches calls through the gate of the box.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::answer::{Answer, Reply};
use super::caller::{Caller, MissingCapability, trace_of};
use super::channel::{ClientAsker, ClientChannel, RequestWay};
use super::exchange::{Exchange, PeerIdentity};
use super::outlet::Outlet;
use super::protocol::{
    self, ErrorCode, ProtocolError, ProtocolVersion, RequestFrame, RequestId, RequestMeta,
};
use super::result::{ResultFormat, failed, written};
use super::rounds::{CallEnd, CallEvent, CallIdentity, Rounds, SuspendableCall};
use super::session::RequestScope;
use super::shared::ServiceShared;
use crate::call::{FailureKind, ToolCall, ToolResult};
use crate::context::{CancellationToken, Progress, ToolContext};
use crate::dispatch::Pass;
use crate::sync::Mutex;

/// The key in `_meta` of a request for the number of agents running above the call in other
/// processes.
const DEPTH: &str = "toolbox/depth";

/// The maximum number of progress reports waiting to be sent; more are dropped, since a later one
/// supersedes them.
const WAITING_REPORTS: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(default)]
    input_responses: Option<Map<String, Value>>,
    #[serde(borrow, default)]
    request_state: Option<Cow<'a, str>>,
}

/// Admits one call, and returns the future that makes it.
///
/// The arguments go to the gate as the client wrote them, whatever they are.
pub(super) fn call(
    exchange: Exchange<'_>,
    request: &RequestFrame<'_>,
    scope: RequestScope,
) -> Result<Reply, ProtocolError> {
    let CallParams { name, arguments, input_responses, request_state } = request.params()?;
    let arguments = arguments.map_or("{}", RawValue::get);
    if !arguments.starts_with('{') {
        return Err(ProtocolError::invalid_params(
            "the parameters of `tools/call` cannot be read: invalid type of `arguments`, expected a map",
        ));
    }
    let refused = |text: &str| {
        let text = protocol::response(&request.id, &failed(text, scope.version));
        Ok(Reply::Now(Answer::from(text)))
    };
    let Exchange { shared, running, peer, outlet, requests, cancellation, .. } = exchange;
    if let Err(wait) = running.admit(peer.principal.as_ref()) {
        let wait = wait.as_micros().div_ceil(1000).max(1);
        return refused(&format!(
            "too many calls came at once; nothing was called, call again in {wait} ms"
        ));
    }
    let Some(guard) = running.call(shared.options.max_calls) else {
        return refused("the server is busy; nothing was called, call again later");
    };
    let progress = scope.meta.progress_token().map(|token| (token.clone(), outlet.clone()));
    let is_modern = scope.version.is_modern();
    let identity = || CallIdentity {
        principal: peer.principal.clone(),
        fingerprint: shared.waiting.fingerprint(&request.method, &name, arguments),
    };
    let attached = |identity| AttachedRequest {
        shared: Arc::clone(shared),
        id: request.id.clone(),
        identity,
        progress: progress.clone(),
        cancellation: cancellation.clone(),
    };
    if let Some(state) = request_state.filter(|_| is_modern) {
        let identity = identity();
        let Some(call) = shared.waiting.take(&state, &identity) else {
            return Err(ProtocolError::invalid_params(
                "the `requestState` belongs to no call of these parameters that waits: it has expired, was used, or was changed; make the call without it",
            ));
        };
        call.resume(input_responses.unwrap_or_default());
        let attached = attached(identity);
        return Ok(Reply::Later(Box::pin(async move {
            let _guard = guard;
            attached.follow(call).await
        })));
    }
    let given = input_responses.unwrap_or_default();
    let rounds =
        (is_modern && scope.client.answers_requests()).then(|| Arc::new(Rounds::with_given(given)));
    let way = match &rounds {
        Some(rounds) => RequestWay::Rounds(Arc::clone(rounds)),
        None if scope.is_legacy => RequestWay::Messages(requests.clone()),
        None => RequestWay::None,
    };
    let channel = Arc::new(ClientChannel::new(scope.client, outlet.clone(), scope.log_level, way));
    let context = context(&scope.meta, peer, channel);
    let mut call = RunningCall {
        shared: Arc::clone(shared),
        version: scope.version,
        context,
        call: ToolCall::new(request.id.to_string(), name.clone(), arguments),
    };
    if let Some(rounds) = rounds {
        // The call may outlast this request.
        let own_cancellation = running.ending().child();
        let reports;
        (call.context, reports) =
            with_reports(call.context.with_cancellation(own_cancellation.clone()));
        let call = async move { call.run().await };
        let call = SuspendableCall::start(call, rounds, reports, own_cancellation);
        let attached = attached(identity());
        return Ok(Reply::Later(Box::pin(async move {
            let _guard = guard;
            attached.follow(call).await
        })));
    }
    call.context = call.context.with_cancellation(cancellation);
    let id = request.id.clone();
    Ok(Reply::Later(Box::pin(async move {
        let _guard = guard;
        match progress {
            None => call.run().await(&id),
            Some((token, outlet)) => call.run_with_progress(token, outlet).await(&id),
        }
    })))
}

/// Returns the context of a call of a client.
fn context(meta: &RequestMeta, peer: &PeerIdentity, channel: Arc<ClientChannel>) -> ToolContext {
    let mut context = ToolContext::new();
    if channel.can_ask() {
        context = context.with_asker(ClientAsker(Arc::clone(&channel)));
    }
    context = context.with(Caller::new(channel));
    if let Some(trace) = trace_of(meta) {
        context = context.with(trace);
    }
    // The client's value can only increase the depth, and so only restrict the call.
    if let Some(depth) = meta.get(DEPTH).and_then(Value::as_u64) {
        context = context.with_depth(u32::try_from(depth).unwrap_or(u32::MAX));
    }
    if let Some(principal) = &peer.principal {
        context = context.with(principal.clone());
    }
    if let Some(conversation) = &peer.conversation {
        context = context.with(conversation.clone());
    }
    context
}

/// An admitted call.
struct RunningCall {
    shared: Arc<ServiceShared>,
    version: ProtocolVersion,
    context: ToolContext,
    call: ToolCall,
}

impl RunningCall {
    /// Makes the call. A failure of the tool is a result; an error means that there is no such
    /// tool, or that the client lacks a capability.
    async fn run(self) -> CallEnd {
        let Self { shared, version, context, call } = self;
        let name = call.name.clone();
        let pass = Pass { hidden: shared.options.list_deferred, ..Pass::default() };
        let result = shared.toolbox.dispatch(Some(&context), call, pass).await;
        Box::new(move |id| ended(&shared, version, &name, &result, id))
    }

    /// Makes the call, and sends the reports of its progress before the answer.
    async fn run_with_progress(mut self, token: Value, outlet: Outlet) -> CallEnd {
        let mut reports;
        (self.context, reports) = with_reports(self.context);
        let send = async |report: Progress| {
            // The transport detects a client that is gone.
            let _ = outlet.send(progress_notification(&token, report)).await;
        };
        let mut work = pin!(self.run());
        let answer = loop {
            tokio::select! {
                biased;
                Some(report) = reports.recv() => send(report).await,
                answer = &mut work => break answer,
            }
        };
        while let Ok(report) = reports.try_recv() {
            send(report).await;
        }
        answer
    }
}

/// Returns the answer to a call that has ended.
fn ended(
    shared: &ServiceShared,
    version: ProtocolVersion,
    name: &str,
    result: &ToolResult,
    id: &RequestId,
) -> Answer {
    if result.failure_kind() == Some(FailureKind::NotFound) && shared.listing().get(name).is_none()
    {
        let error = ProtocolError::invalid_params(result.text());
        return Answer::error(id, &error);
    }
    if version.is_modern()
        && let Some(error) = MissingCapability::in_result(result)
    {
        return Answer::error(id, &error);
    }
    let limit = shared.toolbox.shared.settings.result_bytes;
    // Looked up after the call: the output schema is withdrawn meanwhile if the result of a mounted
    // server does not match it.
    let tool = shared.toolbox.get(name);
    let output_schema = tool.as_ref().and_then(|tool| tool.definition().output_schema.as_deref());
    let format = ResultFormat { version, output_schema, limit };
    Answer::from(protocol::response(id, &written(result, format)))
}

/// Returns a context that reports progress, and the reports.
fn with_reports(context: ToolContext) -> (ToolContext, mpsc::Receiver<Progress>) {
    let (reports, outbox) = mpsc::channel(WAITING_REPORTS);
    let report = rising(move |report| {
        let _ = reports.try_send(report);
    });
    (context.with_progress(report), outbox)
}

/// The request that a call is to be answered to, of perhaps several.
struct AttachedRequest {
    shared: Arc<ServiceShared>,
    id: RequestId,
    identity: CallIdentity,
    progress: Option<(Value, Outlet)>,
    cancellation: CancellationToken,
}

impl AttachedRequest {
    /// Waits until a call has ended, or asks its client for something.
    async fn follow(self, mut call: SuspendableCall) -> Answer {
        let Self { shared, id, identity, progress, cancellation } = self;
        let send = async |report: Progress| {
            if let Some((token, outlet)) = &progress {
                let _ = outlet.send(progress_notification(token, report)).await;
            }
        };
        let mut is_wanted = true;
        loop {
            let event = tokio::select! {
                event = call.next() => event,
                () = cancellation.cancelled(), if is_wanted => {
                    is_wanted = false;
                    call.cancel();
                    continue;
                }
            };
            match event {
                CallEvent::Progress(report) => send(report).await,
                CallEvent::Ended(end) => {
                    while let Some(report) = call.last_report() {
                        send(report).await;
                    }
                    let Some(end) = end else {
                        let error =
                            ProtocolError::new(ErrorCode::InternalError, "the call is lost");
                        return Answer::error(&id, &error);
                    };
                    return end(&id);
                }
                CallEvent::Waits if !is_wanted => {}
                CallEvent::Waits => {
                    let requests = call.requests();
                    let time = shared.options.answer_timeout;
                    let Some(state) = shared.waiting.put(call, identity, time) else {
                        let text = "too many calls wait for answers of their users";
                        let error = ProtocolError::new(ErrorCode::InternalError, text);
                        return Answer::error(&id, &error);
                    };
                    let result = json!({
                        "resultType": "input_required",
                        "inputRequests": requests,
                        "requestState": state,
                    });
                    return Answer::from(protocol::response(&id, &result));
                }
            }
        }
    }
}

/// Returns a sink that passes only reports with increased progress, as the protocol requires.
fn rising(sink: impl Fn(Progress) + Send + Sync) -> impl Fn(Progress) + Send + Sync {
    let last = Mutex::new(f64::NEG_INFINITY);
    move |report| {
        let mut last = last.lock();
        if report.done.is_finite() && report.done > *last {
            *last = report.done;
            sink(report);
        }
    }
}

fn progress_notification(token: &Value, report: Progress) -> Vec<u8> {
    let mut params = json!({ "progressToken": token, "progress": report.done });
    if let Some(total) = report.total.filter(|total| total.is_finite()) {
        params["total"] = total.into();
    }
    if let Some(message) = report.message {
        params["message"] = message.into();
    }
    protocol::notification("notifications/progress", &params)
}
