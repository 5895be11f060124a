//! The requests of a session that are being answered, over one stream or over HTTP.
//!
//! Two answers under one id could not be distinguished: the SDK would lose one of them, or take the
//! end of a cancelled call for the answer to the next one. Stateless requests over HTTP cannot be
//! confused: each has its answer on its own connection.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rmcp::model::{ErrorData, RequestId};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::text::{QUOTED, quote};

type RequestKey = (String, RequestId);

/// The requests of all sessions.
#[derive(Clone, Default)]
pub(super) struct InFlight {
    open: Arc<Mutex<HashMap<RequestKey, OpenRequest>>>,
}

struct OpenRequest {
    /// A unique number, since an id may be used again.
    number: u64,
    /// `true` if no answer is sent any more; the id is free once the call has ended.
    cancelled: bool,
    call: Weak<()>,
}

/// The request of one HTTP exchange, until its answer is sent and its call has ended: an older
/// client may reconnect for the answer.
#[derive(Clone)]
pub(super) struct Slot(Arc<SlotInner>);

/// A guard that lives as long as the call of a request.
#[derive(Clone)]
pub(super) struct CallGuard {
    _slot: Slot,
    _call: Arc<()>,
}

struct SlotInner {
    requests: InFlight,
    session: String,
    call: Weak<()>,
    taken: Mutex<SlotState>,
}

#[derive(Default)]
enum SlotState {
    #[default]
    Nothing,
    Open(RequestKey, u64),
    /// The id belongs to another request of the session.
    Refused(RequestId),
}

impl InFlight {
    /// Returns a slot for one request of a session, and the guard for its call.
    pub(super) fn slot(&self, session: String) -> (Slot, CallGuard) {
        let call = Arc::new(());
        let (requests, taken) = (self.clone(), Mutex::default());
        let inner = SlotInner { requests, session, call: Arc::downgrade(&call), taken };
        let slot = Slot(Arc::new(inner));
        (slot.clone(), CallGuard { _slot: slot, _call: call })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<RequestKey, OpenRequest>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Registers the request in a message. Returns `false` if a request with its id is being
    /// answered.
    pub(super) fn read(&self, message: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct MessageHead {
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
        if let Ok(MessageHead { id: None, method: Some(method), params: Some(params) }) =
            serde_json::from_slice(message)
            && method == "notifications/cancelled"
            && let Some(id) = params.request_id
        {
            self.cancel(id);
        }
        true
    }

    /// Marks a request of the session as cancelled.
    pub(super) fn cancel(&self, id: RequestId) {
        if let Some(open) = self.0.requests.open().get_mut(&(self.0.session.clone(), id)) {
            open.cancelled = true;
        }
    }

    /// Reserves an id. Returns `false` if a request with that id is being answered.
    pub(super) fn begin(&self, id: RequestId) -> bool {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let key = (self.0.session.clone(), id);
        let mut open = self.0.requests.open();
        let is_free =
            open.get(&key).is_none_or(|open| open.cancelled && open.call.strong_count() == 0);
        let taken = if is_free {
            let call = Weak::clone(&self.0.call);
            open.insert(key.clone(), OpenRequest { number, cancelled: false, call });
            SlotState::Open(key, number)
        } else {
            SlotState::Refused(key.1)
        };
        drop(open);
        *self.taken() = taken;
        is_free
    }

    /// Returns the id of a request that was refused.
    pub(super) fn refused(&self) -> Option<RequestId> {
        match &*self.taken() {
            SlotState::Refused(id) => Some(id.clone()),
            _ => None,
        }
    }

    fn taken(&self) -> MutexGuard<'_, SlotState> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SlotInner {
    fn drop(&mut self) {
        let taken = self.taken.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let SlotState::Open(key, number) = std::mem::take(taken) {
            let mut open = self.requests.open();
            if open.get(&key).is_some_and(|open| open.number == number) {
                open.remove(&key);
            }
        }
    }
}

/// Returns the error for an id whose request is being answered.
pub(super) fn error(id: &RequestId) -> ErrorData {
    let quoted = quote(&id.clone().into_json_value().to_string(), QUOTED);
    let message = format!(
        "a request with the id {quoted} is still being answered: give each an id of its own"
    );
    ErrorData::invalid_request(message, None)
}
