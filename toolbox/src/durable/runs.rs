//! Runs of agents in a journal.

use std::sync::Arc;
use std::time::SystemTime;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use tokio::sync::mpsc::UnboundedSender;

use super::backlog::RecordedCall;
use super::journal::{Journal, JournalInner};
use super::recorder::BoxRecorder;
use super::rows;
use super::sqlite::{SqliteBacklog, deliver};
use super::worker::Worker;
use crate::agent::log::{BELOW, Entry, LogPlace, RunClaim, RunState, RunStore};
use crate::agent::{Agent, Paused, PendingCall, ResumeFrom, Run};
use crate::call::{JobId, SharedError, new_id};
use crate::collection::ToolBox;
use crate::context::recorder::CallRecorder;
use crate::context::{Completion, Decision, ToolContext};
use crate::future::BoxFuture;
use crate::store::{StoreError, from_millis, to_millis};

impl Run {
    /// Keeps the run in a journal under a key, so that it goes on after its process died.
    ///
    /// Each reply of the model, each call that may not happen twice, each result and each pause is
    /// on the disk before the next step. The same key goes on where the run was: with what the
    /// journal has, and not with the message that is given again. No reply is asked for twice that
    /// was written down, and no result is lost. A call that was begun and has no result is made
    /// again if its tool is idempotent; else the model reads that
    /// [nobody knows](crate::call::FailureKind::OutcomeUnknown) whether it happened. A run that has
    /// ended returns its outcome again.
    ///
    /// Runs of agents below, paused runs and background jobs are kept as well. Events report what
    /// happens from here on. The agent is to be built as it was: tools are not compared.
    ///
    /// ```
    /// use toolbox::agent::Agent;
    /// use toolbox::durable::Journal;
    /// use toolbox::testing::ScriptedModel;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let journal = Journal::in_memory()?;
    /// // The model has one reply.
    /// let agent = Agent::builder(ScriptedModel::answering("Hello.")).build()?;
    /// assert_eq!(agent.run("Hi").durable("greeting", &journal).await?.content, "Hello.");
    /// assert_eq!(agent.resume("greeting", &journal).await?.content, "Hello.");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Besides those of a run, [`RunErrorKind::Journal`](crate::agent::RunErrorKind::Journal) if
    /// the journal fails, if the run is at work elsewhere, or if it was begun by an agent of
    /// another name or for another [`Principal`](crate::context::Principal).
    pub fn durable(self, key: impl Into<String>, journal: &Journal) -> Self {
        let place = place(key.into(), journal);
        self.logged(Some(place))
    }
}

/// Goes on with a [durable](Run::durable) run, in the context that it began in if no other is
/// [given](Run::in_context).
#[diagnostic::do_not_recommend]
impl<Key: AsRef<str>> ResumeFrom<&Journal> for Key {
    fn resume(self, agent: &Agent, journal: &Journal) -> Run {
        Run::recorded(agent.clone(), place(self.as_ref().to_owned(), journal))
    }
}

fn place(key: String, journal: &Journal) -> LogPlace {
    let store = JournalRuns { background: BoxRecorder::new(journal), journal: journal.clone() };
    LogPlace { store: Arc::new(store), key }
}

/// A run in a journal.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordedRun {
    /// The key.
    pub key: String,
    /// The name of the agent, or of the tool it was called as.
    pub agent: String,
    /// The state.
    pub state: RecordedRunState,
    /// The number of times it was begun or resumed.
    pub attempt: u32,
    /// The journal in which it is at work: its [id](Journal::id).
    pub owner: Option<String>,
    /// The time at which it began.
    pub started: SystemTime,
    /// The time of its last entry.
    pub changed: SystemTime,
    /// The calls that wait for a decision.
    pub pending: Vec<PendingCall>,
}

/// The state of a run in a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordedRunState {
    /// It is at work in some process.
    Running,
    /// Its process died, or stopped it; it goes on when it is resumed.
    Interrupted,
    /// Calls wait for a decision, or the run was [paused](crate::agent::RunHandle::pause) between
    /// two steps.
    Paused,
    /// Decisions were made, and it goes on when it is resumed.
    Decided,
    /// It has an outcome.
    Ended,
}

impl RecordedRunState {
    /// Returns the stable code of the state, such as `interrupted`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Paused => "paused",
            Self::Decided => "decided",
            Self::Ended => "ended",
        }
    }

    /// Returns `true` if the run can be resumed and would go on.
    #[must_use]
    pub fn can_go_on(self) -> bool {
        matches!(self, Self::Interrupted | Self::Decided)
    }
}

impl std::fmt::Display for RecordedRunState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code())
    }
}

impl Journal {
    /// Returns the runs that have not ended, the latest first, up to 1000; with `ended`, those
    /// that have ended too. Runs of agents below are part of those above, and not listed.
    ///
    /// # Errors
    ///
    /// [`StoreError`], also where the journal has an engine that keeps no runs.
    pub async fn runs(&self, ended: bool) -> Result<Vec<RecordedRun>, StoreError> {
        self.file()?
            .run(move |connection, _| {
                let runs = connection
                    .prepare_cached(
                        "SELECT key, agent, state, owner, attempt, started, changed FROM run \
                         WHERE instr(key, ?2) = 0 AND (?1 OR state != 'ended') \
                         ORDER BY changed DESC, key LIMIT 1000",
                    )?
                    .query_map(params![ended, BELOW.to_string()], |row| Ok(readable_run(row)))?
                    .collect::<Result<Vec<_>, _>>()?;
                runs.into_iter().flatten().map(|run| with_pending(connection, run)).collect()
            })
            .await
    }

    /// Returns the runs that would go on if they were resumed, without their pending calls.
    pub(super) async fn runs_to_resume(&self) -> Result<Vec<RecordedRun>, StoreError> {
        self.file()?
            .run(|connection, _| {
                let runs = connection
                    .prepare_cached(
                        "SELECT key, agent, state, owner, attempt, started, changed FROM run \
                         WHERE state IN ('running', 'decided') AND owner IS NULL \
                         AND instr(key, ?) = 0 ORDER BY changed LIMIT 1000",
                    )?
                    .query_map([BELOW.to_string()], |row| Ok(readable_run(row)))?
                    .collect::<Result<Vec<_>, _>>()?;
                Ok(runs.into_iter().flatten().collect())
            })
            .await
    }

    /// Decides on calls of a paused run, by the ids of its [pending calls](RecordedRun::pending).
    /// The run goes on when it is resumed, by this process or another. `false` if it is not paused.
    ///
    /// # Errors
    ///
    /// As for [`Journal::runs`].
    pub async fn decide<K: Into<String>>(
        &self,
        key: &str,
        decisions: impl IntoIterator<Item = (K, Decision)>,
    ) -> Result<bool, StoreError> {
        let decisions = decisions.into_iter().map(|(id, decision)| (id.into(), decision)).collect();
        let entry = to_text(&Entry::Decided(decisions))?;
        let (key, at) = (key.to_owned(), to_millis(SystemTime::now()));
        self.file()?
            .run(move |connection, _| {
                let decided = connection
                    .prepare_cached(
                        "UPDATE run SET state = 'decided', changed = ? \
                         WHERE key = ? AND state IN ('paused', 'decided') AND owner IS NULL",
                    )?
                    .execute(params![at, key])?;
                if decided == 1 {
                    add_entry(connection, &key, &entry)?;
                }
                Ok(decided == 1)
            })
            .await
    }

    /// Takes a pause for the run of a key, or for one start alone; `false` if another has taken it.
    /// An engine without a file knows of none.
    pub(super) async fn take_pause(&self, id: &str, key: Option<&str>) -> Result<bool, StoreError> {
        let Ok(file) = self.file() else { return Ok(true) };
        let by = key.map_or_else(|| new_id("start_"), str::to_owned);
        let (id, at) = (id.to_owned(), to_millis(SystemTime::now()));
        let taken = file.run(move |connection, _| {
            connection
                .prepare_cached(
                    "INSERT INTO pause (id, taken_by, at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
                )?
                .execute(params![id, by, at])?;
            let taken: String = connection
                .prepare_cached("SELECT taken_by FROM pause WHERE id = ?")?
                .query_row([&id], |row| row.get(0))?;
            Ok(taken == by)
        });
        taken.await
    }

    pub(super) fn file(&self) -> Result<&Arc<SqliteBacklog>, StoreError> {
        self.inner.file()
    }
}

impl JournalInner {
    fn file(&self) -> Result<&Arc<SqliteBacklog>, StoreError> {
        self.file
            .as_ref()
            .ok_or_else(|| failed("the engine of the journal keeps neither runs nor spending"))
    }
}

fn failed(message: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Failed(Arc::from(message.into()))
}

fn to_text(entry: &Entry) -> Result<String, StoreError> {
    serde_json::to_string(entry).map_err(|error| StoreError::Failed(Arc::new(error)))
}

/// Returns a run, or nothing for one that cannot be read: that one keeps no other from going on.
fn readable_run(row: &Row<'_>) -> Option<RecordedRun> {
    let read = read_run(row).map_err(StoreError::from);
    read.inspect_err(|error| {
        let reason = rows::reason(error);
        tracing::warn!(reason, "a run in the journal cannot be read and is skipped");
    })
    .ok()
}

pub(super) fn read_run(row: &Row<'_>) -> rusqlite::Result<RecordedRun> {
    let (state, owner): (String, Option<String>) = (row.get("state")?, row.get("owner")?);
    let state = match (state.as_str(), &owner) {
        ("ended", _) => RecordedRunState::Ended,
        ("running" | "paused" | "decided", Some(_)) => RecordedRunState::Running,
        ("paused", None) => RecordedRunState::Paused,
        ("decided", None) => RecordedRunState::Decided,
        ("running", None) => RecordedRunState::Interrupted,
        _ => {
            let unknown = format!("no run has the state {state:?}");
            return Err(rusqlite::Error::FromSqlConversionFailure(0, Type::Text, unknown.into()));
        }
    };
    Ok(RecordedRun {
        key: row.get("key")?,
        agent: row.get("agent")?,
        state,
        attempt: row.get("attempt")?,
        owner,
        started: from_millis(row.get("started")?),
        changed: from_millis(row.get("changed")?),
        pending: Vec::new(),
    })
}

/// Reads the calls that wait for a decision.
fn with_pending(connection: &Connection, mut run: RecordedRun) -> Result<RecordedRun, StoreError> {
    if run.state != RecordedRunState::Paused {
        return Ok(run);
    }
    let entry = connection
        .prepare_cached("SELECT entry FROM run_entry WHERE key = ? ORDER BY number DESC LIMIT 1")?
        .query_row([&run.key], |row| Ok(row.get::<_, String>(0).ok()))
        .optional()?
        .flatten();
    // Of a damaged entry `Journal::check` reports; the run can be seen, and not decided on.
    if let Some(entry) = entry
        && let Ok(Entry::Paused(paused)) = serde_json::from_str(&entry)
    {
        run.pending = Paused::pending(&paused);
    }
    Ok(run)
}

fn add_entry(connection: &Connection, key: &str, entry: &str) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO run_entry (key, number, entry) \
             SELECT ?1, coalesce(max(number), 0) + 1, ?2 FROM run_entry WHERE key = ?1",
        )?
        .execute([key, entry])?;
    Ok(())
}

/// The logs of runs in a journal.
struct JournalRuns {
    journal: Journal,
    background: BoxRecorder,
}

impl RunStore for JournalRuns {
    fn open<'a>(
        &'a self,
        key: &'a str,
        agent: &'a str,
        is_new: bool,
    ) -> BoxFuture<'a, Result<(u32, Vec<String>), SharedError>> {
        Box::pin(async move {
            let file = self.journal.file().map_err(shared)?;
            let (lease, monotonic) = (self.journal.inner.settings.lease, crate::context::now());
            let (key, agent) = (key.to_owned(), agent.to_owned());
            let at = to_millis(SystemTime::now());
            let opened = file.run(move |connection, shared| {
                let known: Option<(String, Option<String>)> = connection
                    .prepare_cached("SELECT agent, owner FROM run WHERE key = ?")?
                    .query_row([&key], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()?;
                match known {
                    None if !is_new => {
                        return Err(failed(format!("there is no run of the key `{key}`")));
                    }
                    Some((by, _)) if by != agent => {
                        return Err(failed(format!(
                            "the run `{key}` is one of agent `{by}`, and not of `{agent}`"
                        )));
                    }
                    Some((_, Some(owner))) => {
                        let is_own = owner == shared.id;
                        if is_own
                            || shared
                                .gone(connection, vec![owner.clone()], lease, monotonic)?
                                .is_empty()
                        {
                            return Err(failed(format!(
                                "the run `{key}` is at work already, in {owner}"
                            )));
                        }
                    }
                    _ => {}
                }
                let attempt = connection
                    .prepare_cached(
                        "INSERT INTO run (key, agent, state, owner, attempt, started, changed) \
                         VALUES (?1, ?2, 'running', ?3, 1, ?4, ?4) \
                         ON CONFLICT (key) DO UPDATE SET owner = ?3, attempt = attempt + 1 \
                         RETURNING attempt",
                    )?
                    .query_row(params![key, agent, shared.id, at], |row| row.get(0))?;
                let entries = connection
                    .prepare_cached("SELECT entry FROM run_entry WHERE key = ? ORDER BY number")?
                    .query_map([&key], |row| row.get(0))?
                    .collect::<Result<_, _>>()?;
                Ok((attempt, entries))
            });
            opened.await.map_err(shared)
        })
    }

    fn append<'a>(
        &'a self,
        claim: &'a RunClaim,
        entry: String,
        state: RunState,
        delivered: Vec<JobId>,
    ) -> BoxFuture<'a, Result<(), SharedError>> {
        Box::pin(async move {
            let file = self.journal.file().map_err(shared)?;
            let (key, attempt) = (claim.key.clone(), claim.attempt);
            let at = to_millis(SystemTime::now());
            let state = match state {
                RunState::Running => "running",
                RunState::Paused => "paused",
                RunState::Ended => "ended",
            };
            let added = file.run(move |connection, shared| {
                let is_held = connection
                    .prepare_cached(
                        // A run that waits or has ended is nobody's from then on: whoever is
                        // told of it may decide and resume at once.
                        "UPDATE run SET state = ?1, changed = ?2, \
                         owner = CASE WHEN ?1 = 'running' THEN owner END \
                         WHERE key = ?3 AND owner = ?4 AND attempt = ?5",
                    )?
                    .execute(params![state, at, key, shared.id, attempt])?;
                if is_held == 0 {
                    return Err(failed(format!(
                        "the run `{key}` was taken over by another process"
                    )));
                }
                add_entry(connection, &key, &entry)?;
                deliver(connection, delivered, at)?;
                Ok(())
            });
            added.await.map_err(shared)
        })
    }

    fn release(&self, claim: &RunClaim) {
        let Ok(file) = self.journal.file() else { return };
        let (key, attempt) = (claim.key.clone(), claim.attempt);
        // It is done though nobody waits for it.
        drop(file.run(move |connection, shared| {
            connection
                .prepare_cached(
                    "UPDATE run SET owner = NULL WHERE key = ? AND owner = ? AND attempt = ?",
                )?
                .execute(params![key, shared.id, attempt])?;
            // It ended before it began.
            connection
                .prepare_cached(
                    "DELETE FROM run WHERE key = ?1 AND owner IS NULL \
                     AND NOT EXISTS (SELECT 1 FROM run_entry WHERE key = ?1)",
                )?
                .execute([&key])?;
            Ok(())
        }));
    }

    fn background(&self) -> &dyn CallRecorder {
        &self.background
    }

    fn has_job<'a>(&'a self, job: &'a JobId) -> BoxFuture<'a, Result<bool, SharedError>> {
        Box::pin(
            async move { self.journal.get(job).await.map(|call| call.is_some()).map_err(shared) },
        )
    }

    fn attach(
        &self,
        toolbox: &ToolBox,
        jobs: Vec<(JobId, String)>,
        to: UnboundedSender<Completion>,
    ) {
        let (journal, toolbox) = (self.journal.clone(), toolbox.clone());
        tokio::spawn(async move {
            let waited = async {
                for (job, call_id) in jobs {
                    let call = match journal.wait(&job).await {
                        Ok(Some(call)) => call,
                        Ok(None) => continue,
                        Err(error) => {
                            tracing::error!(%error, %job, "a job cannot be waited for");
                            continue;
                        }
                    };
                    if to.send(completion(&toolbox, call, call_id)).is_err() {
                        return;
                    }
                }
            };
            // One that its process left behind runs here, if it may run again.
            tokio::select! {
                () = waited => {}
                () = to.closed() => {}
                () = Worker::new(toolbox.clone(), &journal).run_until(std::future::pending()) => {}
            }
        });
    }
}

fn completion(toolbox: &ToolBox, call: RecordedCall, call_id: String) -> Completion {
    let context = ToolContext {
        call_id: call_id.clone(),
        tool: toolbox.get(&call.tool).map(|tool| Arc::clone(tool.shared_definition().arc())),
        ..ToolContext::new()
    };
    let result = call.result.unwrap_or_else(|| crate::ToolResult::new(""));
    Completion { job: call.id, context, result: result.with_call_id(call_id) }
}

fn shared(error: StoreError) -> SharedError {
    Arc::new(error)
}
