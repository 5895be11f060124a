//! A reply that waits for the guards on the input.

use crate::agent::event::{Emitter, EventKind};
use crate::model::{Delta, ModelError, ModelResponse, Usage};
use crate::sync::Mutex;

/// The end of a request beside the guards on the input.
pub(super) enum GuardedReply {
    Passed(Result<ModelResponse, ModelError>),
    /// A guard blocked; the tokens of the reply, if there was one by then.
    Blocked {
        reason: String,
        usage: Usage,
    },
}

/// The deltas of a reply, held back until the guards on the input have passed.
pub(super) struct HeldDeltas<'a> {
    events: &'a Emitter,
    held: Mutex<Option<Vec<Delta>>>,
}

impl<'a> HeldDeltas<'a> {
    pub(super) fn new(events: &'a Emitter, are_held: bool) -> Self {
        Self { events, held: Mutex::new(are_held.then(Vec::new)) }
    }

    pub(super) fn emit(&self, delta: Delta) {
        match &mut *self.held.lock() {
            Some(held) => held.push(delta),
            None => self.events.emit(|| EventKind::Delta(delta)),
        }
    }

    pub(super) fn release(&self) {
        let mut held = self.held.lock();
        for delta in held.take().into_iter().flatten() {
            self.events.emit(|| EventKind::Delta(delta));
        }
    }
}
