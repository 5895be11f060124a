//! A reply that waits for the guards on the input.

use std::collections::HashSet;

use crate::event::{EventKind, Reporter};
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
///
/// Pieces of the arguments of tools that take secrets are left out, and those of calls that carry
/// another: which tool it names is known only once they are whole.
pub(super) struct HeldDeltas<'a> {
    events: &'a Reporter,
    takes_secret: &'a (dyn Fn(&str) -> bool + Send + Sync),
    held: Mutex<Option<Vec<Delta>>>,
    /// The indices of calls of such tools.
    secret: Mutex<HashSet<usize>>,
}

impl<'a> HeldDeltas<'a> {
    pub(super) fn new(
        events: &'a Reporter,
        are_held: bool,
        takes_secret: &'a (dyn Fn(&str) -> bool + Send + Sync),
    ) -> Self {
        let held = Mutex::new(are_held.then(Vec::new));
        Self { events, takes_secret, held, secret: Mutex::default() }
    }

    pub(super) fn emit(&self, delta: Delta) {
        match &delta {
            Delta::Call { index, name, .. } if (self.takes_secret)(name) => {
                self.secret.lock().insert(*index);
            }
            Delta::Arguments { index, .. } if self.secret.lock().contains(index) => return,
            _ => {}
        }
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
