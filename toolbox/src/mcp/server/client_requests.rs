//! Requests of this server to a client with a handshake, which answers them in messages of its own.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::outlet::Outlet;
use super::protocol::{self, RequestId};
use crate::context::TraceContext;
use crate::context::trace::trace_here;
use crate::mcp::telemetry::{Operation, Outcome};
use crate::sync::Mutex;

/// The maximum number of requests that wait for one client.
const MAX_WAITING: usize = 256;

/// The requests that wait for the answers of one client; clones share them.
#[derive(Clone, Default)]
pub(super) struct ClientRequests(Arc<Mutex<WaitingRequests>>);

#[derive(Default)]
struct WaitingRequests {
    last: i64,
    waiting: HashMap<i64, oneshot::Sender<Result<Value, Value>>>,
}

/// The reason why a request to a client has no result.
#[derive(Debug)]
pub(super) enum ClientRequestError {
    /// The client is gone, or too many requests wait for it.
    Gone,
    /// The client answered with an error.
    Refused(Value),
}

/// A request that waits until this is dropped.
struct WaitingRequest<'a> {
    requests: &'a ClientRequests,
    outlet: &'a Outlet,
    number: i64,
}

impl ClientRequests {
    /// Sends a request, and waits for its result. Dropping the future cancels it.
    pub(super) async fn send(
        &self,
        outlet: &Outlet,
        method: &str,
        mut params: Value,
        operation: Operation,
    ) -> Result<Value, ClientRequestError> {
        let (answer, answered) = oneshot::channel();
        let number = {
            let mut requests = self.0.lock();
            if requests.waiting.len() >= MAX_WAITING {
                return Err(ClientRequestError::Gone);
            }
            requests.last += 1;
            let number = requests.last;
            requests.waiting.insert(number, answer);
            number
        };
        let _waiting = WaitingRequest { requests: self, outlet, number };
        operation.sent_as(&number);
        if let Some(trace) = operation.within(trace_here).filter(|_| operation.is_on()) {
            add_trace(&mut params, trace);
        }
        let message = protocol::request(number, method, &params);
        let answer = match outlet.send(message).await {
            Ok(()) => answered.await.ok(),
            Err(_) => None,
        };
        operation.end(|| match &answer {
            Some(Ok(_)) => Outcome::default(),
            Some(Err(error)) => {
                let code = error.get("code").and_then(Value::as_i64);
                let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
                let code = code.and_then(|code| i32::try_from(code).ok()).unwrap_or_default();
                Outcome::refused(code, message)
            }
            None => Outcome::failed("connection_lost"),
        });
        match answer {
            Some(Ok(result)) => Ok(result),
            Some(Err(error)) => Err(ClientRequestError::Refused(error)),
            None => Err(ClientRequestError::Gone),
        }
    }

    /// Takes an answer of the client. One to no request that waits is ignored.
    pub(super) fn answer(&self, id: &RequestId, answer: Result<Value, Value>) {
        let Some(number) = id.as_integer() else { return };
        if let Some(waiting) = self.0.lock().waiting.remove(&number) {
            let _ = waiting.send(answer);
        }
    }
}

/// Adds the position in a trace to the parameters of a request.
fn add_trace(params: &mut Value, trace: TraceContext) {
    let Some(params) = params.as_object_mut() else { return };
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    let Some(meta) = meta.as_object_mut() else { return };
    meta.insert("traceparent".to_owned(), trace.traceparent.into());
    if let Some(state) = trace.tracestate {
        meta.insert("tracestate".to_owned(), state.into());
    }
}

/// Parses an answer; one that cannot be read is null.
pub(super) fn parsed(answer: Result<&RawValue, &RawValue>) -> Result<Value, Value> {
    let parse = |text: &RawValue| serde_json::from_str(text.get()).unwrap_or_default();
    answer.map(parse).map_err(parse)
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        if self.requests.0.lock().waiting.remove(&self.number).is_some() {
            let params = json!({ "requestId": self.number });
            self.outlet.offer(protocol::notification("notifications/cancelled", &params));
        }
    }
}
