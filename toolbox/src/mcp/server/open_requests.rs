//! The requests of a connection or a session that are being answered.
//!
//! Two answers under one id could not be distinguished, and a cancelled request has none.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, MutexGuard};

use super::protocol::{ErrorCode, ProtocolError, RequestId};
use crate::context::CancellationToken;
use crate::sync::Mutex;
use crate::text::{QUOTED, quote};

/// The requests that are being answered, by their ids.
#[derive(Clone, Default)]
pub(super) struct OpenRequests(Arc<Mutex<HashMap<RequestId, OpenEntry>>>);

struct OpenEntry {
    cancellation: CancellationToken,
    /// `true` if the client wants no answer; the id is free once the call has ended.
    is_cancelled: bool,
}

/// A request that is being answered; its id is taken until this is dropped.
pub(super) struct OpenRequest {
    requests: OpenRequests,
    /// `None` once it is finished.
    id: Option<RequestId>,
}

impl OpenRequests {
    /// Takes an id, unless it is that of a request that is being answered.
    pub(super) fn begin(
        &self,
        id: &RequestId,
        cancellation: &CancellationToken,
    ) -> Result<OpenRequest, ProtocolError> {
        match self.lock().entry(id.clone()) {
            Entry::Occupied(_) => Err(in_use(id)),
            Entry::Vacant(free) => {
                free.insert(OpenEntry { cancellation: cancellation.clone(), is_cancelled: false });
                Ok(OpenRequest { requests: self.clone(), id: Some(id.clone()) })
            }
        }
    }

    /// Cancels a request at the client's wish.
    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(entry) = self.lock().get_mut(id) {
            entry.is_cancelled = true;
            entry.cancellation.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, OpenEntry>> {
        self.0.lock()
    }
}

impl OpenRequest {
    /// Frees the id, and returns whether the client still wants the answer.
    pub(super) fn finish(mut self) -> bool {
        self.remove().is_some_and(|entry| !entry.is_cancelled)
    }

    fn remove(&mut self) -> Option<OpenEntry> {
        self.id.take().and_then(|id| self.requests.lock().remove(&id))
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.remove();
    }
}

fn in_use(id: &RequestId) -> ProtocolError {
    let quoted = quote(&serde_json::to_string(id).unwrap_or_default(), QUOTED);
    let message = format!(
        "a request with the id {quoted} is still being answered: give each an id of its own"
    );
    ProtocolError::new(ErrorCode::InvalidRequest, message)
}
