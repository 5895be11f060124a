//! The requests of a session that are being answered: over one stream, or over HTTP.
//!
//! Two answers under one id could not be told apart, and the SDK would lose one of them, or take
//! the end of a call that was cancelled for the answer to the next one. Between requests over HTTP
//! that stand alone there is nothing to confuse: each has its answer on its own connection.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rmcp::model::{ErrorData, RequestId};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::text::{QUOTED, quote};

type Key = (String, RequestId);

/// The requests of all sessions.
#[derive(Clone, Default)]
pub(super) struct InFlight {
    open: Arc<Mutex<HashMap<Key, Open>>>,
}

struct Open {
    /// One of its own: an id may be used again.
    number: u64,
    /// No answer is sent any more, and the id is free once the call has ended.
    cancelled: bool,
    call: Weak<()>,
}

/// The request that an HTTP request brings, until its answer was sent and what it called has ended:
/// an older client may come back for the answer.
#[derive(Clone)]
pub(super) struct Slot(Arc<Inner>);

/// Lives as long as the call that a request made.
#[derive(Clone)]
pub(super) struct CallGuard {
    _slot: Slot,
    _call: Arc<()>,
}

struct Inner {
    requests: InFlight,
    session: String,
    call: Weak<()>,
    taken: Mutex<Taken>,
}

#[derive(Default)]
enum Taken {
    #[default]
    Nothing,
    Open(Key, u64),
    /// Another request of the session has the id.
    Refused(RequestId),
}

impl InFlight {
    /// Returns a slot for one request of a session, and what its call holds.
    pub(super) fn slot(&self, session: String) -> (Slot, CallGuard) {
        let call = Arc::new(());
        let (requests, taken) = (self.clone(), Mutex::default());
        let inner = Inner { requests, session, call: Arc::downgrade(&call), taken };
        let slot = Slot(Arc::new(inner));
        (slot.clone(), CallGuard { _slot: slot, _call: call })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Key, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Takes note of the message that was read. Returns false if its id is that of a request which
    /// is being answered.
    pub(super) fn read(&self, message: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Read {
            id: Option<RequestId>,
            method: Option<String>,
            params: Option<Cancelled>,
        }
        #[derive(Deserialize)]
        struct Cancelled {
            #[serde(rename = "requestId")]
            request_id: Option<RequestId>,
        }
        #[derive(Deserialize)]
        struct Request {
            id: RequestId,
            #[allow(dead_code, reason = "what has none is an answer")]
            method: IgnoredAny,
        }
        if let Ok(Request { id, .. }) = serde_json::from_slice(message) {
            return self.begin(id);
        }
        if let Ok(Read { id: None, method: Some(method), params: Some(params) }) =
            serde_json::from_slice(message)
            && method == "notifications/cancelled"
            && let Some(id) = params.request_id
        {
            self.cancel(id);
        }
        true
    }

    /// Takes note that a request of the session is cancelled.
    pub(super) fn cancel(&self, id: RequestId) {
        if let Some(open) = self.0.requests.open().get_mut(&(self.0.session.clone(), id)) {
            open.cancelled = true;
        }
    }

    /// Takes an id. Returns false if it is that of a request which is being answered.
    pub(super) fn begin(&self, id: RequestId) -> bool {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let key = (self.0.session.clone(), id);
        let mut open = self.0.requests.open();
        let is_free =
            open.get(&key).is_none_or(|open| open.cancelled && open.call.strong_count() == 0);
        let taken = if is_free {
            let call = Weak::clone(&self.0.call);
            open.insert(key.clone(), Open { number, cancelled: false, call });
            Taken::Open(key, number)
        } else {
            Taken::Refused(key.1)
        };
        drop(open);
        *self.taken() = taken;
        is_free
    }

    /// Returns the id of a request that was refused.
    pub(super) fn refused(&self) -> Option<RequestId> {
        match &*self.taken() {
            Taken::Refused(id) => Some(id.clone()),
            _ => None,
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let taken = self.taken.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Taken::Open(key, number) = std::mem::take(taken) {
            let mut open = self.requests.open();
            if open.get(&key).is_some_and(|open| open.number == number) {
                open.remove(&key);
            }
        }
    }
}

/// Says that an id is that of a request which is being answered.
pub(super) fn error(id: &RequestId) -> ErrorData {
    let shown = quote(&id.clone().into_json_value().to_string(), QUOTED);
    let message = format!(
        "a request with the id {shown} is still being answered: give each an id of its own"
    );
    ErrorData::invalid_request(message, None)
}
