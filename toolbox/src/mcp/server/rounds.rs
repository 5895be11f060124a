//! Requests of a call to a client without a session: the call waits, its answer lists the requests,
//! and the client makes it again with the answers.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::answer::Answer;
use super::protocol::RequestId;
use super::reports::WaitingReports;
use crate::call::JobId;
use crate::context::{CancellationToken, Principal, Progress};
use crate::future::{BoxFuture, spawn};
use crate::sync::Mutex;

/// The maximum number of calls of one principal that wait for answers; the oldest one ends.
const MAX_OF_PRINCIPAL: usize = 64;

/// The maximum number of calls of a service that wait for answers.
const MAX_WAITING: usize = 1024;

/// The maximum number of requests of one call.
const MAX_REQUESTS: usize = 64;

/// The open requests of one call.
#[derive(Default)]
pub(super) struct Rounds {
    state: Mutex<RoundsState>,
    opened: Notify,
    /// Notified when a request is opened, answered or withdrawn.
    changed: Notify,
}

#[derive(Default)]
struct RoundsState {
    open: Vec<OpenInput>,
    /// The keys of all requests so far.
    keys: HashSet<String>,
    /// Results that came with the call itself, for requests that it is going to make.
    given: Map<String, Value>,
    /// Wakes the call, so that it is known to wait.
    call: Option<Waker>,
}

struct OpenInput {
    key: String,
    request: Value,
    answer: oneshot::Sender<Value>,
}

/// An open request, which is withdrawn when this is dropped.
struct OpenInputGuard<'a> {
    rounds: &'a Rounds,
    key: String,
}

impl Rounds {
    /// Returns no open requests, and results for requests to come.
    pub(super) fn with_given(results: Map<String, Value>) -> Self {
        let state = RoundsState { given: results, ..RoundsState::default() };
        Self { state: Mutex::new(state), ..Self::default() }
    }

    /// Opens a request under a key, or one derived from it, and waits for the result of the client.
    /// Returns `None` if there were too many.
    pub(super) async fn request(&self, key: &str, method: &str, params: Value) -> Option<Value> {
        let (answer, answered) = oneshot::channel();
        let open = {
            let mut state = self.state.lock();
            if state.keys.len() >= MAX_REQUESTS {
                return None;
            }
            let key = state.unused(key);
            state.keys.insert(key.clone());
            if let Some(given) = state.given.remove(&key) {
                return Some(given);
            }
            let request = json!({ "method": method, "params": params });
            state.open.push(OpenInput { key: key.clone(), request, answer });
            self.changed.notify_one();
            if let Some(call) = state.call.take() {
                call.wake();
            }
            OpenInputGuard { rounds: self, key }
        };
        let answered = answered.await.ok();
        drop(open);
        answered
    }

    /// Waits until the call waits for a request that is open.
    async fn opened(&self) {
        loop {
            self.opened.notified().await;
            if self.is_open() {
                return;
            }
        }
    }

    /// Waits until a request is opened, answered or withdrawn.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn is_open(&self) -> bool {
        !self.state.lock().open.is_empty()
    }

    /// Returns all open requests, in the form of the protocol.
    pub(super) fn requests(&self) -> Map<String, Value> {
        let state = self.state.lock();
        state.open.iter().map(|open| (open.key.clone(), open.request.clone())).collect()
    }

    /// Takes the results of the client. Keys that are not open are ignored. Returns `true` if a
    /// request was answered.
    pub(super) fn answer(&self, mut results: Map<String, Value>) -> bool {
        let mut state = self.state.lock();
        let (answered, open) = std::mem::take(&mut state.open)
            .into_iter()
            .partition::<Vec<_>, _>(|open| results.contains_key(&open.key));
        state.open = open;
        drop(state);
        let any = !answered.is_empty();
        for open in answered {
            let _ = open.answer.send(results.remove(&open.key).unwrap_or_default());
        }
        any
    }
}

impl RoundsState {
    fn unused(&self, key: &str) -> String {
        let key = if key.is_empty() { "question" } else { key };
        let mut keys = (2..).map(|count: usize| format!("{key}_{count}"));
        let mut next = key.to_owned();
        while self.keys.contains(&next) {
            next = keys.next().unwrap_or_default();
        }
        next
    }
}

impl Drop for OpenInputGuard<'_> {
    fn drop(&mut self) {
        self.rounds.state.lock().open.retain(|open| open.key != self.key);
        self.rounds.changed.notify_one();
    }
}

/// The end of a call, to be written as the answer to whichever request asked last.
pub(super) type CallEnd = Box<dyn FnOnce(&RequestId) -> Answer + Send>;

/// A call that reports when it waits for its client.
struct Reporting {
    call: BoxFuture<'static, CallEnd>,
    rounds: Arc<Rounds>,
}

impl Future for Reporting {
    type Output = CallEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<CallEnd> {
        self.rounds.state.lock().call = Some(context.waker().clone());
        let polled = self.call.as_mut().poll(context);
        // Only now: all requests that the call makes at once are in one answer.
        if polled.is_pending() && self.rounds.is_open() {
            self.rounds.opened.notify_one();
        }
        polled
    }
}

/// A call that goes on over several requests of its client. It ends when it is dropped.
pub(super) struct SuspendableCall {
    work: JoinHandle<()>,
    end: oneshot::Receiver<CallEnd>,
    rounds: Arc<Rounds>,
    reports: WaitingReports,
    cancellation: CancellationToken,
}

/// The next event of a call.
pub(super) enum CallEvent {
    Progress(Progress),
    /// It waits for the client.
    Waits,
    /// It has ended; `None` if its end is unknown.
    Ended(Option<CallEnd>),
}

impl SuspendableCall {
    /// Starts a call as a task of its own, which goes on while the client is away.
    pub(super) fn start(
        call: BoxFuture<'static, CallEnd>,
        rounds: Arc<Rounds>,
        reports: WaitingReports,
        cancellation: CancellationToken,
    ) -> Self {
        let call = Reporting { call, rounds: Arc::clone(&rounds) }.in_current_span();
        let (ending, end) = oneshot::channel();
        let work = spawn(Box::pin(async move {
            let _ = ending.send(call.await);
        }));
        Self { work, end, rounds, reports, cancellation }
    }

    /// Takes the results of the client.
    pub(super) fn resume(&self, results: Map<String, Value>) {
        if !self.rounds.answer(results) && self.rounds.is_open() {
            // Nothing that was asked for is there: the same requests again.
            self.rounds.opened.notify_one();
        }
    }

    pub(super) fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Waits for the next event.
    pub(super) async fn next(&mut self) -> CallEvent {
        tokio::select! {
            biased;
            report = self.reports.next() => CallEvent::Progress(report),
            end = &mut self.end => CallEvent::Ended(end.ok()),
            () = self.rounds.opened() => CallEvent::Waits,
        }
    }

    /// Returns a report that came before the end.
    pub(super) fn last_report(&mut self) -> Option<Progress> {
        self.reports.take()
    }

    pub(super) fn requests(&self) -> Map<String, Value> {
        self.rounds.requests()
    }
}

impl Drop for SuspendableCall {
    fn drop(&mut self) {
        self.work.abort();
    }
}

/// The calls of a service that wait for answers, by the state that their clients send back.
#[derive(Clone, Default)]
pub(super) struct WaitingCalls {
    calls: Arc<Mutex<HashMap<String, SuspendedCall>>>,
    hasher: Arc<RandomState>,
}

struct SuspendedCall {
    call: SuspendableCall,
    principal: Option<Principal>,
    fingerprint: u64,
    /// The position among all calls that ever waited.
    number: u64,
}

/// The owner of a call, and a fingerprint of what was asked for: another request cannot go on with
/// it.
pub(super) struct CallIdentity {
    pub(super) principal: Option<Principal>,
    pub(super) fingerprint: u64,
}

impl WaitingCalls {
    /// Returns the fingerprint of a method and its parameters, for a client that takes tasks or
    /// not.
    pub(super) fn fingerprint(
        &self,
        (method, name, arguments): (&str, &str, &str),
        takes_tasks: bool,
    ) -> u64 {
        self.hasher.hash_one((method, name, arguments, takes_tasks))
    }

    /// Keeps a call for a while, and returns the state by which it is found; `None` if too many
    /// wait.
    pub(super) fn put(
        &self,
        call: SuspendableCall,
        identity: CallIdentity,
        time: Duration,
    ) -> Option<String> {
        let state = JobId::new().as_str().replace("job_", "call_");
        let CallIdentity { principal, fingerprint } = identity;
        let evicted = {
            let mut calls = self.calls.lock();
            let own = calls.iter().filter(|(_, waiting)| waiting.principal == principal);
            let oldest = own.clone().min_by_key(|(_, waiting)| waiting.number);
            let oldest = oldest.map(|(state, _)| state.clone());
            let evicted = oldest.filter(|_| own.count() >= MAX_OF_PRINCIPAL);
            let evicted = evicted.and_then(|state| calls.remove(&state));
            if calls.len() >= MAX_WAITING {
                return None;
            }
            let number = calls.values().map(|waiting| waiting.number + 1).max().unwrap_or(0);
            let waiting = SuspendedCall { call, principal, fingerprint, number };
            calls.insert(state.clone(), waiting);
            evicted
        };
        drop(evicted);
        let (calls, own) = (Arc::downgrade(&self.calls), state.clone());
        spawn(Box::pin(async move {
            tokio::time::sleep(time).await;
            if let Some(calls) = calls.upgrade() {
                let expired = calls.lock().remove(&own);
                drop(expired);
            }
        }));
        Some(state)
    }

    /// Takes a call out, if the same client asks for the same.
    pub(super) fn take(&self, state: &str, identity: &CallIdentity) -> Option<SuspendableCall> {
        let mut calls = self.calls.lock();
        let waiting = calls.get(state)?;
        let is_same =
            waiting.principal == identity.principal && waiting.fingerprint == identity.fingerprint;
        is_same.then(|| calls.remove(state)).flatten().map(|waiting| waiting.call)
    }
}
