//! Requests that the gate of the box answers: a call of a tool, of a prompt, of a resource.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::answer::{Answer, Reply};
use super::caller::{Caller, trace_of};
use super::channel::{ClientAsker, ClientChannel, RequestWay};
use super::client_link::ClientLink;
use super::exchange::{Exchange, PeerIdentity};
use super::outlet::Outlet;
use super::protocol::{self, ErrorCode, ProtocolError, RequestFrame, RequestId, RequestMeta};
use super::reports::WaitingReports;
use super::rounds::{CallEnd, CallEvent, CallIdentity, Rounds, SuspendableCall};
use super::session::RequestScope;
use super::shared::ServiceShared;
use crate::context::{CancellationToken, Progress, ToolContext};
use crate::future::BoxFuture;
use crate::mcp::apps::AppsOfClient;

/// The key in `_meta` of a request for the number of agents running above the call in other
/// processes.
const DEPTH: &str = "toolbox/depth";

/// The parameters by which a client goes on with a request that asked it for something.
pub(super) struct GivenInputs<'a> {
    pub(super) responses: Option<Map<String, Value>>,
    pub(super) state: Option<Cow<'a, str>>,
}

/// The subject of a request, so that no other request goes on with its call.
pub(super) struct GatedSubject<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
    pub(super) inputs: GivenInputs<'a>,
}

/// Admits one call, and returns the future that makes it: `run` in the context of the client.
/// `refuse` answers with a reason why it was not made.
pub(super) fn admit<F>(
    exchange: Exchange<'_>,
    request: &RequestFrame<'_>,
    scope: RequestScope,
    subject: GatedSubject<'_>,
    refuse: impl Fn(&str) -> Result<Reply, ProtocolError>,
    run: impl FnOnce(ToolContext) -> F,
) -> Result<Reply, ProtocolError>
where
    F: Future<Output = CallEnd> + Send + 'static,
{
    let run = |context| -> BoxFuture<'static, CallEnd> { Box::pin(run(context)) };
    admit_boxed(exchange, request, scope, subject, &refuse, Box::new(run))
}

/// Admits one call of any kind. It is compiled once: what follows a call is large.
fn admit_boxed(
    exchange: Exchange<'_>,
    request: &RequestFrame<'_>,
    scope: RequestScope,
    subject: GatedSubject<'_>,
    refuse: &dyn Fn(&str) -> Result<Reply, ProtocolError>,
    run: Box<dyn FnOnce(ToolContext) -> BoxFuture<'static, CallEnd> + '_>,
) -> Result<Reply, ProtocolError> {
    let GatedSubject { name, arguments, inputs } = subject;
    let Exchange { shared, running, peer, outlet, requests, cancellation, .. } = exchange;
    if let Err(wait) = running.admit(peer.principal.as_ref()) {
        let wait = wait.as_micros().div_ceil(1000).max(1);
        return refuse(&format!(
            "too many calls came at once; nothing was called, call again in {wait} ms"
        ));
    }
    let Some(guard) = running.call(shared.options.max_calls) else {
        return refuse("the server is busy; nothing was called, call again later");
    };
    let progress = scope.meta.progress_token().map(|token| (token.clone(), outlet.clone()));
    let is_modern = scope.version.is_modern();
    let takes_tasks = scope.takes_tasks();
    let identity = || CallIdentity {
        principal: peer.principal.clone(),
        fingerprint: shared.waiting.fingerprint((&request.method, name, arguments), takes_tasks),
    };
    let attached = |identity| AttachedRequest {
        shared: Arc::clone(shared),
        id: request.id.clone(),
        identity,
        progress: progress.clone(),
        cancellation: cancellation.clone(),
    };
    if let Some(state) = inputs.state.filter(|_| is_modern) {
        let identity = identity();
        let Some(call) = shared.waiting.take(&state, &identity) else {
            return Err(ProtocolError::invalid_params(
                "the `requestState` belongs to no call of these parameters that waits: it has expired, was used, or was changed; make the call without it",
            ));
        };
        call.resume(inputs.responses.unwrap_or_default());
        let attached = attached(identity);
        return Ok(Reply::Later(Box::pin(async move {
            let _guard = guard;
            attached.follow(call).await
        })));
    }
    let given = inputs.responses.unwrap_or_default();
    // A task outlasts this request as well.
    let outlasts = takes_tasks || is_modern && scope.client.answers_requests();
    let rounds = outlasts.then(|| Arc::new(Rounds::with_given(given)));
    let way = match &rounds {
        Some(rounds) => RequestWay::Rounds(Arc::clone(rounds)),
        None if scope.is_legacy => RequestWay::Messages(requests.clone()),
        None => RequestWay::None,
    };
    let link = ClientLink::new(shared.reporter.clone(), peer.session(), peer.network);
    let channel =
        Arc::new(ClientChannel::new(scope.client, outlet.clone(), scope.log_level, way, link));
    let context = context(&scope.meta, peer, channel);
    if let Some(rounds) = rounds {
        // The call may outlast this request.
        let own_cancellation = running.ending().child_token();
        let (context, reports) =
            WaitingReports::of(context.with_cancellation(own_cancellation.clone()));
        let call = SuspendableCall::start(run(context), rounds, reports, own_cancellation);
        let attached = attached(identity());
        return Ok(Reply::Later(Box::pin(async move {
            let _guard = guard;
            attached.follow(call).await
        })));
    }
    let context = context.with_cancellation(cancellation);
    let id = request.id.clone();
    Ok(Reply::Later(match progress {
        None => {
            let work = run(context);
            Box::pin(async move {
                let _guard = guard;
                work.await(&id)
            })
        }
        Some((token, outlet)) => {
            let (context, reports) = WaitingReports::of(context);
            let work = run(context);
            Box::pin(async move {
                let _guard = guard;
                reporting(work, reports, token, outlet).await(&id)
            })
        }
    }))
}

/// Waits for a call, and sends the reports of its progress before the answer.
async fn reporting(
    mut work: BoxFuture<'static, CallEnd>,
    mut reports: WaitingReports,
    token: Value,
    outlet: Outlet,
) -> CallEnd {
    let send = async |report: Progress| {
        // The transport detects a client that is gone.
        let _ = outlet.send(progress_notification(&token, report)).await;
    };
    let answer = loop {
        tokio::select! {
            biased;
            report = reports.next() => send(report).await,
            answer = &mut work => break answer,
        }
    };
    while let Some(report) = reports.take() {
        send(report).await;
    }
    answer
}

/// Returns the context of a call of a client.
fn context(meta: &RequestMeta, peer: &PeerIdentity, channel: Arc<ClientChannel>) -> ToolContext {
    let mut context = peer.context();
    if channel.can_ask() {
        context = context.with_asker(ClientAsker(Arc::clone(&channel)));
    }
    let apps = AppsOfClient(channel.claims.apps().cloned());
    context = context.with_extension(apps).with(Caller::new(channel));
    if let Some(trace) = trace_of(meta) {
        context = context.with(trace);
    }
    // The client's value can only increase the depth, and so only restrict the call.
    if let Some(depth) = meta.get(DEPTH).and_then(Value::as_u64) {
        context = context.with_depth(u32::try_from(depth).unwrap_or(u32::MAX));
    }
    context
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
