//! The log of a durable run: what happened in it, so that it goes on after its process died.
//!
//! A run that goes on is the same loop again: where the log has a reply or a result, it is taken
//! from there, and nothing is asked for or called.

mod outcome;

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedSender;

pub(crate) use self::outcome::LoggedOutcome;
use super::handle::SteeredInput;
use super::outcome::{RunErrorKind, RunOutcome};
use super::paused::{Decisions, Paused};
use crate::call::{
    Arguments, CarriedResult, CarriedResultRef, Content, JobId, SharedError, ToolResult,
};
use crate::collection::ToolBox;
use crate::context::recorder::{CallRecorder, CallToRecord, OpenRecord};
use crate::context::{CancellationToken, CarriedContext, Completion};
use crate::cost::Cost;
use crate::future::BoxFuture;
use crate::model::{History, HistoryEdit, ModelResponse, Reply, Usage};
use crate::sync::Mutex;

/// Keeps the logs of runs.
pub(crate) trait RunStore: Send + Sync {
    /// Claims a run, and returns the attempt and what its log holds. A run that is not there
    /// begins if it `is_new`, and else is an error.
    fn open<'a>(
        &'a self,
        key: &'a str,
        agent: &'a str,
        is_new: bool,
    ) -> BoxFuture<'a, Result<(u32, Vec<String>), SharedError>>;

    /// Adds an entry to the log, and marks the results of jobs in it as delivered. Fails if the
    /// run was claimed by another since.
    fn append<'a>(
        &'a self,
        claim: &'a RunClaim,
        entry: String,
        state: RunState,
        delivered: Vec<JobId>,
    ) -> BoxFuture<'a, Result<(), SharedError>>;

    /// Gives a claim up.
    fn release(&self, claim: &RunClaim);

    /// Returns the recorder of background calls.
    fn background(&self) -> &dyn CallRecorder;

    /// Returns `true` if a background call was accepted.
    fn has_job<'a>(&'a self, job: &'a JobId) -> BoxFuture<'a, Result<bool, SharedError>>;

    /// Sends the completions of jobs that an earlier attempt started, each given with the id of its
    /// call.
    fn attach(
        &self,
        toolbox: &ToolBox,
        jobs: Vec<(JobId, String)>,
        to: UnboundedSender<Completion>,
    );
}

/// A right to add to the log of a run.
pub(crate) struct RunClaim {
    pub(crate) key: String,
    pub(crate) attempt: u32,
}

/// The state of a run as its entries leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunState {
    Running,
    Paused,
    Ended,
}

/// One entry of a log.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    Begin {
        history: History,
        context: CarriedContext,
    },
    Reply {
        reply: Reply,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Cost::is_zero")]
        cost: Cost,
        /// The tools that a hook left out of the step.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<String>,
    },
    /// A call is about to run.
    Started(StartedCall),
    /// A call has its result.
    Result(LoggedResult),
    /// All calls of the reply have results; these are the ones that were not logged yet.
    Answered {
        rest: Vec<LoggedResult>,
        found: Vec<(String, u32)>,
    },
    /// A background job has ended, and the model is told so.
    Observed {
        job: JobId,
        content: Vec<Content>,
    },
    /// The user has sent a message while the run worked.
    Steered(SteeredInput),
    /// The transcript was changed before a request, at this cost.
    Edited {
        edit: HistoryEdit,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Cost::is_zero")]
        cost: Cost,
        /// The limit that the run keeps since its service refused a longer request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    Paused(Box<Paused>),
    Decided(Decisions),
    Ended(LoggedOutcome),
}

/// A call that is about to run, and runs no second time unless it may.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct StartedCall {
    pub(super) call_id: String,
    pub(super) tool: String,
    pub(super) idempotent: bool,
    /// The arguments that were approved, if the call had to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approved: Option<Arguments>,
    /// The job that it is in the journal, if it runs in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) job: Option<JobId>,
}

/// A result in a log.
pub(crate) struct LoggedResult(pub(super) ToolResult);

impl Serialize for LoggedResult {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        CarriedResultRef::from(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LoggedResult {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(CarriedResult::deserialize(deserializer)?.into()))
    }
}

/// A log that a run is to have: its store and its key.
#[derive(Clone)]
pub(crate) struct LogPlace {
    pub(crate) store: Arc<dyn RunStore>,
    pub(crate) key: String,
}

/// The log of a run at work.
pub(super) struct RunLog {
    writer: Arc<LogWriter>,
    /// The entries of an earlier attempt that are still to be done again.
    recorded: VecDeque<Entry>,
}

/// A message of a log, which stands before the next request.
pub(super) enum LoggedMessage {
    /// The report of a job.
    Observed { job: JobId, content: Vec<Content> },
    /// A message that the user sent while the run worked.
    Steered(SteeredInput),
}

/// A reply in a log, and the tools that were left out of its request.
pub(super) struct LoggedReply {
    pub(super) response: ModelResponse,
    pub(super) cost: Cost,
    pub(super) left_out: Vec<String>,
}

/// A change of the transcript in a log, its cost, and the limit that the run keeps since.
pub(super) struct LoggedEdit {
    pub(super) edit: HistoryEdit,
    pub(super) usage: Usage,
    pub(super) cost: Cost,
    pub(super) limit: Option<usize>,
}

/// The beginning of a run as its log has it.
pub(super) enum Recorded {
    Nothing,
    Begun {
        history: History,
        context: CarriedContext,
    },
    /// It paused last; the decisions made since.
    Paused {
        paused: Box<Paused>,
        decisions: Decisions,
        context: CarriedContext,
    },
    Ended {
        outcome: Box<RunOutcome>,
        context: CarriedContext,
    },
}

impl RunLog {
    /// Claims the run of a key, and reads what happened in it.
    pub(super) async fn open(
        place: LogPlace,
        agent: &str,
        is_new: bool,
    ) -> Result<(Self, Recorded), RunErrorKind> {
        let LogPlace { store, key } = place;
        let opened = store.open(&key, agent, is_new).await.map_err(RunErrorKind::Journal)?;
        let (attempt, texts) = opened;
        let writer = LogWriter {
            store,
            claim: RunClaim { key, attempt },
            step: AtomicU32::new(0),
            failure: Mutex::default(),
            logged: Mutex::default(),
            reported: Mutex::default(),
        };
        let mut log = Self { writer: Arc::new(writer), recorded: VecDeque::new() };
        for text in texts {
            let entry = serde_json::from_str(&text)
                .map_err(|error| RunErrorKind::Journal(Arc::new(error)))?;
            log.recorded.push_back(entry);
        }
        let recorded = log.begin();
        Ok((log, recorded))
    }

    fn begin(&mut self) -> Recorded {
        let Some(Entry::Begin { history, context }) = self.recorded.pop_front() else {
            self.recorded.clear();
            return Recorded::Nothing;
        };
        if let Some(Entry::Ended(_)) = self.recorded.back()
            && let Some(Entry::Ended(outcome)) = self.recorded.pop_back()
            && let Some(outcome) = outcome.restore()
        {
            let outcome = Box::new(outcome);
            return Recorded::Ended { outcome, context };
        }
        // The document of a pause holds all that was before it.
        let pause = self.recorded.iter().rposition(|entry| matches!(entry, Entry::Paused(_)));
        let Some(pause) = pause else { return Recorded::Begun { history, context } };
        let mut rest = self.recorded.split_off(pause);
        let Some(Entry::Paused(paused)) = rest.pop_front() else {
            return Recorded::Begun { history, context };
        };
        let mut decisions = Decisions::new();
        while let Some(Entry::Decided(_)) = rest.front() {
            if let Some(Entry::Decided(own)) = rest.pop_front() {
                decisions.extend(own);
            }
        }
        self.recorded = rest;
        Recorded::Paused { paused, decisions, context }
    }

    /// Returns `true` while the run does again what an earlier attempt did.
    pub(super) fn is_replaying(&self) -> bool {
        !self.recorded.is_empty()
    }

    /// Returns the recorder of the calls of the run.
    pub(super) fn recorder(&self) -> Arc<dyn CallRecorder> {
        Arc::new(RunRecorder(Arc::clone(&self.writer)))
    }

    pub(super) fn enter_step(&self, step: u32) {
        self.writer.step.store(step, Ordering::Relaxed);
    }

    /// Adds an entry.
    pub(super) async fn add(&self, entry: &Entry, state: RunState) -> Result<(), RunErrorKind> {
        self.writer.add(entry, state).await.map_err(RunErrorKind::Journal)
    }

    /// Notes that the next entry tells the model of a job.
    pub(super) fn note_reported(&self, job: JobId) {
        self.writer.reported.lock().push(job);
    }

    /// Returns the ids of the calls whose results were added since the last time.
    pub(super) fn take_logged(&self) -> HashSet<String> {
        std::mem::take(&mut *self.writer.logged.lock())
    }

    /// Returns `true` if the log has the report of a job further on.
    pub(super) fn will_observe(&self, job: &JobId) -> bool {
        self.recorded
            .iter()
            .any(|entry| matches!(entry, Entry::Observed { job: own, .. } if own == job))
    }

    /// Returns the reply that is recorded next.
    pub(super) fn reply(&mut self) -> Option<LoggedReply> {
        if !matches!(self.recorded.front(), Some(Entry::Reply { .. })) {
            return None;
        }
        match self.recorded.pop_front() {
            Some(Entry::Reply { reply, usage, cost, left_out }) => {
                let response = ModelResponse::from(reply).with_usage(usage);
                Some(LoggedReply { response, cost, left_out })
            }
            _ => None,
        }
    }

    /// Returns the message that is recorded next.
    pub(super) fn message(&mut self) -> Option<LoggedMessage> {
        if !self.is_message() {
            return None;
        }
        match self.recorded.pop_front() {
            Some(Entry::Observed { job, content }) => {
                Some(LoggedMessage::Observed { job, content })
            }
            Some(Entry::Steered(input)) => Some(LoggedMessage::Steered(input)),
            _ => None,
        }
    }

    /// Returns `true` if a message is recorded next: the report of a job, or one of the user.
    pub(super) fn is_message(&self) -> bool {
        matches!(self.recorded.front(), Some(Entry::Observed { .. } | Entry::Steered(_)))
    }

    /// Returns `true` if the report of a job is recorded next.
    pub(super) fn is_report(&self) -> bool {
        matches!(self.recorded.front(), Some(Entry::Observed { .. }))
    }

    /// Returns the change of the transcript that is recorded next.
    pub(super) fn edit(&mut self) -> Option<LoggedEdit> {
        if !matches!(self.recorded.front(), Some(Entry::Edited { .. })) {
            return None;
        }
        match self.recorded.pop_front() {
            Some(Entry::Edited { edit, usage, cost, limit }) => {
                Some(LoggedEdit { edit, usage, cost, limit })
            }
            _ => None,
        }
    }

    /// Takes what is recorded of the calls of one reply.
    pub(super) fn calls(&mut self) -> RecordedCalls {
        let mut calls = RecordedCalls::default();
        loop {
            match self.recorded.pop_front() {
                Some(Entry::Started(call)) => {
                    calls.started.insert(call.call_id.clone(), call);
                }
                Some(Entry::Result(LoggedResult(result))) => {
                    calls.results.insert(result.call_id().to_owned(), result);
                }
                Some(Entry::Answered { rest, found }) => {
                    let rest = rest.into_iter().map(|LoggedResult(result)| result);
                    calls.results.extend(rest.map(|result| (result.call_id().to_owned(), result)));
                    calls.is_complete = true;
                    calls.found = found;
                    return calls;
                }
                Some(other) => {
                    self.recorded.push_front(other);
                    return calls;
                }
                None => return calls,
            }
        }
    }

    /// Returns what the context of the run's calls tells of the log.
    pub(super) fn scope(&self) -> LogScope {
        LogScope(Arc::clone(&self.writer))
    }

    /// Returns the key of the run.
    pub(super) fn key(&self) -> &str {
        &self.writer.claim.key
    }

    pub(super) fn store(&self) -> &Arc<dyn RunStore> {
        &self.writer.store
    }

    /// Returns the error of an entry that a call could not add.
    pub(super) fn failure(&self) -> Option<RunErrorKind> {
        self.writer.failure.lock().take().map(RunErrorKind::Journal)
    }
}

/// The records of the calls of one reply.
#[derive(Default)]
pub(super) struct RecordedCalls {
    pub(super) started: HashMap<String, StartedCall>,
    pub(super) results: HashMap<String, ToolResult>,
    /// `true` if every call has its result.
    pub(super) is_complete: bool,
    /// The tools that searches had found, each with the last step it is offered in.
    pub(super) found: Vec<(String, u32)>,
}

impl RecordedCalls {
    /// Returns `true` if nothing of the calls is recorded.
    pub(super) fn is_empty(&self) -> bool {
        self.started.is_empty() && self.results.is_empty()
    }
}

/// The character in the key of a run that a call of another run starts. No program has it in a key
/// of its own.
pub(crate) const BELOW: char = '\u{1f}';

/// The log of a run, as the calls of agents below know it; an extension of the context.
#[derive(Clone)]
pub(super) struct LogScope(Arc<LogWriter>);

impl LogScope {
    /// Returns the place of the log of the run that a call starts.
    pub(super) fn below(&self, call_id: &str) -> LogPlace {
        let step = self.0.step.load(Ordering::Relaxed);
        let key = format!("{}{BELOW}{step}.{call_id}", self.0.claim.key);
        LogPlace { store: Arc::clone(&self.0.store), key }
    }
}

struct LogWriter {
    store: Arc<dyn RunStore>,
    claim: RunClaim,
    step: AtomicU32,
    failure: Mutex<Option<SharedError>>,
    /// The calls of the current step whose results are in the log.
    logged: Mutex<HashSet<String>>,
    /// The jobs of which the next entry tells the model.
    reported: Mutex<Vec<JobId>>,
}

impl LogWriter {
    async fn add(&self, entry: &Entry, state: RunState) -> Result<(), SharedError> {
        let text = serde_json::to_string(entry).map_err(|error| Arc::new(error) as SharedError)?;
        let delivered = std::mem::take(&mut *self.reported.lock());
        self.store.append(&self.claim, text, state, delivered).await
    }

    /// Adds an entry for a call, and keeps the error for the run.
    async fn add_for_call(&self, entry: &Entry) -> Result<(), ()> {
        self.add(entry, RunState::Running).await.map_err(|error| {
            tracing::error!(run = self.claim.key, %error, "the log of a run could not be written");
            self.failure.lock().get_or_insert(error);
        })
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.store.release(&self.claim);
    }
}

/// Logs the calls of a run as they start and end.
struct RunRecorder(Arc<LogWriter>);

impl CallRecorder for RunRecorder {
    fn calls_outlive_caller(&self) -> bool {
        false
    }

    fn records_runs(&self) -> bool {
        false
    }

    fn begin(&self, call: CallToRecord) -> BoxFuture<'_, Result<Box<dyn OpenRecord>, ToolResult>> {
        Box::pin(async move {
            let tool = call.definition.name.clone();
            let mut started = StartedCall {
                call_id: call.context.call_id().to_owned(),
                idempotent: call.definition.annotations.is_idempotent(),
                approved: call.context.approved.then(|| call.arguments.clone()),
                job: call.job.clone(),
                tool,
            };
            // What may run again, and needs no approval, leaves no trace before it has a result.
            if !started.idempotent || started.approved.is_some() || started.job.is_some() {
                let entry = Entry::Started(started.clone());
                if self.0.add_for_call(&entry).await.is_err() {
                    let text = format!(
                        "the call of tool `{}` has not run: it could not be recorded",
                        started.tool
                    );
                    return Err(ToolResult::refusal(
                        crate::call::FailureKind::Infrastructure,
                        text,
                    ));
                }
            }
            if call.job.is_some() {
                return self.0.store.background().begin(call).await;
            }
            let writer = Arc::clone(&self.0);
            let call_id = std::mem::take(&mut started.call_id);
            Ok(Box::new(CallInLog { writer, call_id }) as Box<dyn OpenRecord>)
        })
    }
}

struct CallInLog {
    writer: Arc<LogWriter>,
    call_id: String,
}

impl OpenRecord for CallInLog {
    fn id(&self) -> Option<&JobId> {
        None
    }

    fn cancellation(&self) -> Option<CancellationToken> {
        None
    }

    fn start(&self) -> BoxFuture<'_, Result<(), ToolResult>> {
        Box::pin(async { Ok(()) })
    }

    fn end<'a>(&'a self, result: &'a ToolResult) -> BoxFuture<'a, ()> {
        Box::pin(async {
            let result = result.clone().with_call_id(self.call_id.clone());
            let entry = Entry::Result(LoggedResult(result));
            if self.writer.add_for_call(&entry).await.is_ok() {
                self.writer.logged.lock().insert(self.call_id.clone());
            }
        })
    }
}

impl fmt::Debug for LogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogPlace").field("key", &self.key).finish_non_exhaustive()
    }
}
