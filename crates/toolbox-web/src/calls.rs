//! The calls of an answer, from the first letter of their arguments to their results.

use std::collections::{HashMap, HashSet};

use crate::piece::{CallPiece, ResultStatus};

/// A call that was shown, and has no result.
#[derive(Debug, Default)]
struct OpenCall {
    tool: String,
    /// The arguments as far as the model wrote them.
    written: String,
    is_ready: bool,
    /// `true` if the call is made, or waits: its result is still to come.
    is_made: bool,
}

/// The calls of an answer.
#[derive(Debug)]
pub(crate) struct Calls {
    /// The ids that calls have already. A call under one of them is shown once its own is known.
    taken: HashSet<String>,
    open: HashMap<String, OpenCall>,
    /// The order in which calls were shown.
    order: Vec<String>,
    /// The calls of the reply that is being written, by the index of their parts.
    streamed: HashMap<usize, String>,
}

impl Calls {
    /// Returns the calls of an answer to a transcript that has some, of which others wait.
    pub(crate) fn new(taken: HashSet<String>, waiting: impl IntoIterator<Item = String>) -> Self {
        let waits =
            |id: String| (id, OpenCall { is_ready: true, is_made: true, ..OpenCall::default() });
        let open: HashMap<_, _> = waiting.into_iter().map(waits).collect();
        let order = open.keys().cloned().collect();
        Self { taken, open, order, streamed: HashMap::new() }
    }

    /// A call begins in the reply that is being written.
    pub(crate) fn begin(
        &mut self,
        (index, id, tool): (usize, &str, &str),
        message: &str,
    ) -> Option<CallPiece> {
        self.streamed.remove(&index);
        if !is_final(id) || self.open.contains_key(id) || !self.taken.insert(id.to_owned()) {
            return None;
        }
        self.streamed.insert(index, id.to_owned());
        Some(self.show(id, tool, message))
    }

    fn show(&mut self, id: &str, tool: &str, message: &str) -> CallPiece {
        self.order.push(id.to_owned());
        let (id, tool) = (id.to_owned(), tool.to_owned());
        self.open.insert(id.clone(), OpenCall { tool: tool.clone(), ..OpenCall::default() });
        CallPiece::Begin { id, tool, message: message.to_owned() }
    }

    /// More arguments come in the reply that is being written.
    pub(crate) fn write(&mut self, index: usize, delta: &str) -> Option<CallPiece> {
        let id = self.streamed.get(&index)?;
        self.open.get_mut(id)?.written.push_str(delta);
        Some(CallPiece::Arguments { id: id.clone(), delta: delta.to_owned() })
    }

    /// The reply is written.
    pub(crate) fn end_reply(&mut self) {
        self.streamed.clear();
    }

    /// A call is made, refused, or waits, with these arguments.
    pub(crate) fn ready(
        &mut self,
        (id, tool): (&str, &str),
        arguments: Option<&str>,
        message: &str,
    ) -> Vec<CallPiece> {
        let mut pieces = Vec::new();
        if !self.open.contains_key(id) {
            self.taken.insert(id.to_owned());
            pieces.push(self.show(id, tool, message));
        }
        if let Some(call) = self.open.get_mut(id) {
            call.is_made = true;
            pieces.extend(call.complete(id, arguments));
        }
        pieces
    }

    /// A call has its result.
    pub(crate) fn end(&mut self, id: &str, text: String, status: ResultStatus) -> CallPiece {
        self.open.remove(id);
        self.order.retain(|own| own != id);
        CallPiece::Result { id: id.to_owned(), text, status }
    }

    /// Ends the calls that were shown and are never made: their reply was cut off, or came again.
    pub(crate) fn end_unmade(&mut self) -> Vec<CallPiece> {
        let mut pieces = Vec::new();
        let is_unmade = |id: &&String| self.open.get(*id).is_some_and(|call| !call.is_made);
        let unmade: Vec<_> = self.order.iter().filter(is_unmade).cloned().collect();
        for id in unmade {
            let call = self.open.get_mut(&id);
            pieces.extend(call.into_iter().flat_map(|call| call.complete(&id, None)));
            pieces.push(self.end(&id, "the call was not made".to_owned(), ResultStatus::Failed));
        }
        pieces
    }
}

impl OpenCall {
    /// Ends the arguments: those that the call is made with, else those that were written. They
    /// are written now if they were not before, as where they hold a secret.
    fn complete(&mut self, id: &str, arguments: Option<&str>) -> Vec<CallPiece> {
        if std::mem::replace(&mut self.is_ready, true) {
            return Vec::new();
        }
        let written = std::mem::take(&mut self.written);
        let mut pieces = Vec::new();
        if written.is_empty() {
            let delta = arguments.unwrap_or("{}").to_owned();
            pieces.push(CallPiece::Arguments { id: id.to_owned(), delta });
        }
        let arguments = match arguments {
            Some(arguments) => arguments.to_owned(),
            None if written.is_empty() => "{}".to_owned(),
            None => written,
        };
        pieces.push(CallPiece::Ready { id: id.to_owned(), tool: self.tool.clone(), arguments });
        pieces
    }
}

/// Returns `true` if the transcript keeps an id of a service as it is. It replaces others.
fn is_final(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
