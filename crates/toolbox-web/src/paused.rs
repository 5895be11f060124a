//! The runs that wait for a person, by principal and thread.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolbox::agent::{Paused, PendingCall};
use toolbox::call::ToolResult;
use toolbox::context::{Answer, Decision};

use crate::offered::OfferedTools;
use crate::request::{Said, WebRequest};

/// A thread of a principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThreadKey {
    pub(crate) principal: String,
    pub(crate) thread: String,
}

/// The runs that wait. When there are more than `limit`, the oldest is dropped.
#[derive(Clone)]
pub(crate) struct PausedRuns {
    runs: Arc<Mutex<VecDeque<(ThreadKey, Paused)>>>,
    pub(crate) limit: usize,
}

impl PausedRuns {
    pub(crate) fn new(limit: usize) -> Self {
        Self { runs: Arc::default(), limit }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(ThreadKey, Paused)>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a run in place of an earlier one of its thread.
    pub(crate) fn put(&self, key: ThreadKey, paused: Paused) {
        let mut runs = self.lock();
        runs.retain(|(own, _)| *own != key);
        runs.push_back((key, paused));
        while runs.len() > self.limit {
            runs.pop_front();
        }
    }

    /// Forgets the run of a thread.
    pub(crate) fn forget(&self, key: &ThreadKey) {
        self.lock().retain(|(own, _)| own != key);
    }

    /// Takes the run of a thread, with the decisions about its calls and the results of those that
    /// the front end made. A run goes on once: a second request with the same decisions finds none.
    /// It stays if no decision and no result is about its calls.
    pub(crate) fn take(
        &self,
        key: &ThreadKey,
        request: &WebRequest,
        offered: &OfferedTools,
    ) -> Option<(Paused, BTreeMap<String, Decision>)> {
        let mut runs = self.lock();
        let at = runs.iter().position(|(own, _)| own == key)?;
        let decisions = decisions(&runs[at].1.pending(), request, offered);
        if decisions.is_empty() {
            return None;
        }
        let (_, paused) = runs.remove(at)?;
        Some((paused, decisions))
    }
}

impl fmt::Debug for PausedRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PausedRuns").field("len", &self.lock().len()).finish_non_exhaustive()
    }
}

/// Returns the id of a question of a pending call.
pub(crate) fn question_id(call: &str, at: usize) -> String {
    format!("{call}#{at}")
}

fn decisions(
    pending: &[PendingCall],
    request: &WebRequest,
    offered: &OfferedTools,
) -> BTreeMap<String, Decision> {
    let (said, results) = (&request.said, request.last_results());
    let of_call = |call: &PendingCall| match said.get(&call.id) {
        _ if offered.have(call) => results.get(&call.id).map(decision_of),
        _ if !call.questions.is_empty() => answers(call, said).map(Decision::Reply),
        Some(Said::Approved) => Some(Decision::Approve),
        Some(Said::Denied(reason)) => Some(Decision::Deny(reason.clone())),
        Some(Said::Answered(_)) | None => None,
    };
    pending.iter().filter_map(|call| Some((call.id.clone(), of_call(call)?))).collect()
}

/// Returns the decision that gives a call the result which the front end has of it.
fn decision_of(result: &ToolResult) -> Decision {
    let text = result.text().into_owned();
    if result.is_error() { Decision::Deny(text) } else { Decision::Answer(text) }
}

/// Returns the answers to the first questions of a call, up to one without an answer.
fn answers(call: &PendingCall, said: &BTreeMap<String, Said>) -> Option<Vec<Answer>> {
    let answer = |at: usize| match said.get(&question_id(&call.id, at))? {
        Said::Answered(answer) => Some(answer.clone()),
        Said::Denied(_) => Some(Answer::Declined),
        Said::Approved => None,
    };
    let answers: Vec<_> = (0..call.questions.len()).map_while(answer).collect();
    (!answers.is_empty()).then_some(answers)
}
