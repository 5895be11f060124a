//! `tools/call`: dispatches calls through the gate of the box.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::caller::{Caller, MissingCapability, trace_of};
use super::exchange::{Answer, Exchange, Outlet, Reply};
use super::protocol::{self, ProtocolError, ProtocolVersion, RequestFrame, RequestId};
use super::result::{ResultFormat, failed, written};
use super::session::RequestScope;
use super::shared::ServiceShared;
use crate::call::{FailureKind, ToolCall};
use crate::context::{Progress, ToolContext};
use crate::dispatch::Pass;
use crate::sync::Mutex;

/// The key in `_meta` of a request for the number of agents running above the call in other
/// processes.
const DEPTH: &str = "toolbox/depth";

/// The maximum number of progress reports waiting to be sent; more are dropped, since a later one
/// supersedes them.
const WAITING_REPORTS: usize = 64;

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Admits one call, and returns the future that makes it.
///
/// The arguments go to the gate as the client wrote them, whatever they are.
pub(super) fn call(
    exchange: Exchange<'_>,
    request: &RequestFrame<'_>,
    scope: RequestScope,
) -> Result<Reply, ProtocolError> {
    let CallParams { name, arguments } = request.params()?;
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
    let Exchange { shared, running, peer, outlet, cancellation, .. } = exchange;
    if let Err(wait) = running.admit(peer.principal.as_ref()) {
        let wait = wait.as_micros().div_ceil(1000).max(1);
        return refused(&format!(
            "too many calls came at once; nothing was called, call again in {wait} ms"
        ));
    }
    let Some(guard) = running.call(shared.options.max_calls) else {
        return refused("the server is busy; nothing was called, call again later");
    };
    let mut context = ToolContext::new().with(Caller::new(scope.client));
    if let Some(trace) = trace_of(&scope.meta) {
        context = context.with(trace);
    }
    // The client's value can only increase the depth, and so only restrict the call.
    if let Some(depth) = scope.meta.get(DEPTH).and_then(Value::as_u64) {
        context = context.with_depth(u32::try_from(depth).unwrap_or(u32::MAX));
    }
    if let Some(principal) = &peer.principal {
        context = context.with(principal.clone());
    }
    if let Some(conversation) = &peer.conversation {
        context = context.with(conversation.clone());
    }
    let call = RunningCall {
        shared: Arc::clone(shared),
        id: request.id.clone(),
        version: scope.version,
        context: context.with_cancellation(cancellation),
        call: ToolCall::new(request.id.to_string(), name, arguments),
    };
    let progress = scope.meta.progress_token().map(|token| (token.clone(), outlet.clone()));
    Ok(Reply::Later(Box::pin(async move {
        let _guard = guard;
        match progress {
            None => call.run().await,
            Some((token, outlet)) => call.run_with_progress(token, outlet).await,
        }
    })))
}

/// An admitted call.
struct RunningCall {
    shared: Arc<ServiceShared>,
    id: RequestId,
    version: ProtocolVersion,
    context: ToolContext,
    call: ToolCall,
}

impl RunningCall {
    /// Makes the call. A failure of the tool is a result; an error means that there is no such
    /// tool, or that the client lacks a capability.
    async fn run(self) -> Answer {
        let Self { shared, id, version, context, call } = self;
        let name = call.name.clone();
        let pass = Pass { hidden: shared.options.list_deferred, ..Pass::default() };
        let result = shared.toolbox.dispatch(Some(&context), call, pass).await;
        if result.failure_kind() == Some(FailureKind::NotFound)
            && shared.listing().get(&name).is_none()
        {
            let error = ProtocolError::invalid_params(result.text());
            return Answer::error(&id, &error);
        }
        if version.is_modern()
            && let Some(error) = MissingCapability::in_result(&result)
        {
            return Answer::error(&id, &error);
        }
        let limit = shared.toolbox.shared.settings.result_bytes;
        // Looked up after the call: the output schema is withdrawn meanwhile if the result of a
        // mounted server does not match it.
        let tool = shared.toolbox.get(&name);
        let output_schema =
            tool.as_ref().and_then(|tool| tool.definition().output_schema.as_deref());
        let format = ResultFormat { version, output_schema, limit };
        Answer::from(protocol::response(&id, &written(&result, format)))
    }

    /// Makes the call, and sends the reports of its progress before the answer.
    async fn run_with_progress(mut self, token: Value, outlet: Outlet) -> Answer {
        let (reports, mut outbox) = mpsc::channel(WAITING_REPORTS);
        self.context = self.context.with_progress(rising(move |report| {
            let _ = reports.try_send(report);
        }));
        let send = async |report: Progress| {
            // The transport detects a client that is gone.
            let _ = outlet.send(progress_notification(&token, report)).await;
        };
        let mut work = pin!(self.run());
        let answer = loop {
            tokio::select! {
                biased;
                Some(report) = outbox.recv() => send(report).await,
                answer = &mut work => break answer,
            }
        };
        while let Ok(report) = outbox.try_recv() {
            send(report).await;
        }
        answer
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
