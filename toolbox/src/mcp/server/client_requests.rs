//! Requests of this server to a client with a handshake, which answers them in messages of its own.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::outlet::Outlet;
use super::protocol::{self, RequestId};
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
        params: &Value,
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
        let message = protocol::request(number, method, params);
        outlet.send(message).await.map_err(|_| ClientRequestError::Gone)?;
        match answered.await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(ClientRequestError::Refused(error)),
            Err(_) => Err(ClientRequestError::Gone),
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
