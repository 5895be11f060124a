//! The journal: calls that are kept until they have a final state.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};
use tokio::sync::Notify;

use super::backlog::{
    Backlog, CallEnd, CallFilter, CallState, Claim, Hold, NewCall, RecordedCall, Recovered,
};
use super::outbox::JournalTool;
use super::results;
use super::sqlite::SqliteBacklog;
use crate::call::{FailureKind, JobId, ToolError, ToolResult};
use crate::context::recorder::CallToRecord;
use crate::context::{CancellationToken, CarriedContext, Conversation};
use crate::definition::ToolDefinition;
use crate::store::StoreError;
use crate::sync::Mutex;
use crate::text::hex;

/// The longest time after which a change by another process is seen.
pub(super) const POLL: Duration = Duration::from_millis(200);

/// The longest time that a caller waits for its result to be written.
const WRITE_WAIT: Duration = Duration::from_secs(30);

/// A journal: it keeps calls until each has exactly one final state, and runs of agents so that
/// they go on after their process died.
///
/// The calls of durable and background tools of a box go through its journal
/// ([`ToolBoxBuilder::journal`](crate::ToolBoxBuilder::journal)), and those that
/// [`ToolBox::submit`](crate::ToolBox::submit) accepts. Several processes may open one file; each
/// opening is an owner of its own. The file must lie on a disk of this computer.
///
/// Cloning is cheap and shares the journal. A thread of its own shows others that it lives, and
/// ends what they left.
///
/// ```
/// use toolbox::durable::Journal;
/// use toolbox::ToolBox;
///
/// # async fn calls() -> Result<(), Box<dyn std::error::Error>> {
/// let journal = Journal::in_memory()?;
/// let toolbox = ToolBox::builder().journal(&journal).build()?;
/// assert!(journal.runs(true).await?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Journal {
    pub(super) inner: Arc<JournalInner>,
}

pub(super) struct JournalInner {
    pub(super) backlog: Arc<dyn Backlog>,
    /// The file, if the engine is the one over `SQLite`: it keeps runs too.
    pub(super) file: Option<Arc<SqliteBacklog>>,
    pub(super) settings: JournalBuilder,
    /// Tells those who wait here of a change made here.
    pub(super) changed: Notify,
    /// Tells relays that a call is to be cancelled.
    pub(super) cancelling: Notify,
    /// The tools whose calls are handed over elsewhere, by the number of the relay.
    pub(super) relayed: Mutex<HashMap<u64, HashSet<JournalTool>>>,
    /// The tokens of the calls that run here.
    tokens: Mutex<HashMap<JobId, CancellationToken>>,
    /// Claims that could not be ended yet; without an end, they are to be given back.
    unwritten: Mutex<Vec<(Claim, Option<CallEnd>)>>,
}

/// The settings of a [`Journal`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `open`"]
pub struct JournalBuilder {
    pub(super) lease: Duration,
    pub(super) max_attempts: u32,
    max_open: u64,
    expires_after: Duration,
    retention: Duration,
    max_bytes: Option<u64>,
}

impl Default for JournalBuilder {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(30),
            max_attempts: 3,
            max_open: 100_000,
            expires_after: Duration::from_secs(24 * 60 * 60),
            retention: Duration::from_secs(7 * 24 * 60 * 60),
            max_bytes: None,
        }
    }
}

impl JournalBuilder {
    /// Sets the time for which an owner may show no life before its calls are taken from it. An
    /// owner shows life three times in it; one whose process is gone is found out at once.
    /// Default 30 seconds, at least 1.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_secs(1));
        self
    }

    /// Sets how often a call of an idempotent tool is begun at most. Default 3.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts.max(1);
        self
    }

    /// Sets how many calls may be without a final state; further ones are refused as
    /// [`Busy`](FailureKind::Busy). Default 100 000. Several processes that accept at once may
    /// exceed it by what each accepts in a third of the lease.
    pub fn max_open(mut self, calls: u64) -> Self {
        self.max_open = calls;
        self
    }

    /// Sets how long a call may wait to be begun; a call with an earlier deadline waits until that.
    /// Default 24 hours.
    pub fn expires_after(mut self, time: Duration) -> Self {
        self.expires_after = time;
        self
    }

    /// Sets how long calls and runs are kept after their end. Default 7 days.
    pub fn retention(mut self, time: Duration) -> Self {
        self.retention = time;
        self
    }

    /// Limits the size of the file, in bytes; a call for which there is no room is refused as
    /// [`Busy`](FailureKind::Busy). Default: none.
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Opens a file, and creates it if it does not exist. It may be that of a
    /// [`SqliteStore`](crate::store::SqliteStore).
    ///
    /// A folder `<file>.workers` beside it holds one lock for each process that has it open.
    ///
    /// # Errors
    ///
    /// As for [`SqliteStore::open`](crate::store::SqliteStore::open).
    pub fn open(self, path: impl AsRef<Path>) -> Result<Journal, StoreError> {
        self.over_file(Some(path.as_ref()))
    }

    /// Opens a journal that is gone with its last clone.
    ///
    /// # Errors
    ///
    /// [`StoreError::Failed`] if there is no memory.
    pub fn in_memory(self) -> Result<Journal, StoreError> {
        self.over_file(None)
    }

    /// Opens a journal over an engine of the program's own. It keeps no runs of agents.
    ///
    /// # Errors
    ///
    /// [`StoreError::Failed`] if no thread can be started.
    pub fn over(self, engine: impl Backlog) -> Result<Journal, StoreError> {
        self.start(Arc::new(engine), None)
    }

    fn over_file(self, path: Option<&Path>) -> Result<Journal, StoreError> {
        let file = Arc::new(SqliteBacklog::open(path, self.max_bytes)?);
        self.start(Arc::clone(&file) as _, Some(file))
    }

    fn start(
        self,
        backlog: Arc<dyn Backlog>,
        file: Option<Arc<SqliteBacklog>>,
    ) -> Result<Journal, StoreError> {
        let inner = Arc::new(JournalInner {
            backlog,
            file,
            settings: self,
            changed: Notify::new(),
            cancelling: Notify::new(),
            relayed: Mutex::default(),
            tokens: Mutex::default(),
            unwritten: Mutex::default(),
        });
        supervise(Arc::downgrade(&inner))?;
        Ok(Journal { inner })
    }
}

impl Journal {
    /// Starts a journal with settings of its own.
    pub fn builder() -> JournalBuilder {
        JournalBuilder::default()
    }

    /// Opens a file with the default settings; see [`JournalBuilder::open`].
    ///
    /// # Errors
    ///
    /// As for [`JournalBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::builder().open(path)
    }

    /// Opens a journal that is gone with its last clone.
    ///
    /// # Errors
    ///
    /// [`StoreError::Failed`] if there is no memory.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::builder().in_memory()
    }

    /// Returns the id of this opening: the [owner](RecordedCall::owner) of the calls that run here.
    #[must_use]
    pub fn id(&self) -> &str {
        self.inner.backlog.id()
    }

    /// Returns a call.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub async fn get(&self, id: &JobId) -> Result<Option<RecordedCall>, StoreError> {
        Ok(self.inner.backlog.get(id).await?.map(RecordedCall::under_its_id))
    }

    /// Returns calls in the order in which they were accepted.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub async fn calls(&self, filter: CallFilter) -> Result<Vec<RecordedCall>, StoreError> {
        let calls = self.inner.backlog.list(filter).await?;
        Ok(calls.into_iter().map(RecordedCall::under_its_id).collect())
    }

    /// Waits until a call has its final state, and returns it; `None` if there is no such call.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    ///
    /// # Cancellation
    ///
    /// Dropping the future does not touch the call.
    pub async fn wait(&self, id: &JobId) -> Result<Option<RecordedCall>, StoreError> {
        loop {
            let changed = self.inner.changed.notified();
            match self.get(id).await? {
                Some(call) if !call.state.is_final() => {}
                ended => return Ok(ended),
            }
            let _ = tokio::time::timeout(POLL, changed).await;
        }
    }

    /// Cancels a call, as far as that is possible: one that waits does not run, one that runs is
    /// told within a third of the lease. `false` if it has a final state already, or does not
    /// exist.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub async fn cancel(&self, id: &JobId) -> Result<bool, StoreError> {
        let cancelled = self.inner.backlog.cancel(id).await?;
        if let Some(token) = self.inner.tokens.lock().get(id) {
            token.cancel();
        }
        self.inner.cancelling.notify_waiters();
        self.inner.changed.notify_waiters();
        Ok(cancelled)
    }

    /// Returns the calls with a final state that a conversation has not been given yet, up to 100.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub async fn undelivered(
        &self,
        conversation: &Conversation,
    ) -> Result<Vec<RecordedCall>, StoreError> {
        let filter = CallFilter::default().of_conversation(conversation.clone()).undelivered();
        self.calls(filter).await
    }

    /// Marks the result of a call as delivered to its conversation. `true` for exactly one caller:
    /// the one that may show it.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub async fn confirm_delivery(&self, id: &JobId) -> Result<bool, StoreError> {
        Ok(!self.inner.backlog.deliver(vec![id.clone()]).await?.is_empty())
    }

    /// Returns the calls whose attempts were used up, up to 100.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub async fn dead_letters(&self) -> Result<Vec<RecordedCall>, StoreError> {
        self.calls(CallFilter::default().dead()).await
    }

    /// Ends or frees the calls whose process is gone. The journal does so by itself when it is
    /// opened and then three times in a lease; a program that wants to know at once asks.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub async fn recover(&self) -> Result<Recovered, StoreError> {
        self.inner.recover().await
    }
}

impl JournalInner {
    async fn recover(&self) -> Result<Recovered, StoreError> {
        let settings = &self.settings;
        let recovered = self.backlog.recover(settings.lease, settings.max_attempts).await?;
        if recovered != Recovered::default() {
            tracing::warn!(?recovered, "calls were left behind by processes that are gone");
            self.changed.notify_waiters();
        }
        Ok(recovered)
    }

    /// Accepts a call. An error is the result that says why not.
    pub(super) async fn accept(
        &self,
        call: &CallToRecord,
        id: &JobId,
        hold: Hold,
    ) -> Result<(), ToolResult> {
        let (definition, settings) = (&call.definition, &self.settings);
        let carried = CarriedContext::of(&call.context);
        let limit = carried
            .remaining()
            .map_or(settings.expires_after, |left| left.min(settings.expires_after));
        let new = NewCall {
            id: id.clone(),
            tool: definition.name.clone(),
            digest: digest(definition),
            arguments: call.arguments.clone(),
            context: serde_json::to_string(&carried).unwrap_or_default(),
            call_id: call.context.call_id().to_owned(),
            conversation: carried
                .conversation
                .map(|(channel, chat)| Conversation::new(channel, chat)),
            idempotent: definition.annotations.is_idempotent(),
            expires: SystemTime::now().checked_add(limit).unwrap_or(SystemTime::UNIX_EPOCH),
        };
        let accepted = self.backlog.accept(new, hold, settings.max_open).await;
        accepted.map_err(|error| not_accepted(definition, error))?;
        self.changed.notify_waiters();
        Ok(())
    }

    /// Returns the token that cancels a call which runs here.
    pub(super) fn token(&self, id: &JobId, above: Option<&CancellationToken>) -> CancellationToken {
        let token = above.map(CancellationToken::child_token).unwrap_or_default();
        self.tokens.lock().insert(id.clone(), token.clone());
        token
    }

    /// Writes the end of a call. What cannot be written within [`WRITE_WAIT`] is written later, as
    /// long as the process lives.
    pub(super) async fn finish(&self, claim: Claim, end: CallEnd) {
        self.tokens.lock().remove(&claim.id);
        let written = tokio::time::timeout(WRITE_WAIT, async {
            while let Err(error) = self.write(&claim, &end).await {
                tracing::error!(%error, call = %claim.id, "a result could not be written; trying again");
                tokio::time::sleep(POLL).await;
            }
        });
        if written.await.is_err() {
            self.unwritten.lock().push((claim, Some(end)));
        }
    }

    /// Writes the end of a call; `false` if it came too late.
    pub(super) async fn write(&self, claim: &Claim, end: &CallEnd) -> Result<bool, StoreError> {
        let is_first = self.backlog.finish(claim.clone(), end.clone()).await?;
        if !is_first {
            tracing::warn!(call = %claim.id, attempt = claim.attempt, "a result came too late, and was discarded");
        }
        self.changed.notify_waiters();
        Ok(is_first)
    }

    /// Returns `true` if the calls of a tool are handed over elsewhere.
    pub(super) fn is_relayed(&self, tool: &JournalTool) -> bool {
        self.relayed.lock().values().any(|tools| tools.contains(tool))
    }

    /// Gives a call back, so that it runs again.
    pub(super) async fn release(&self, claim: Claim) {
        self.tokens.lock().remove(&claim.id);
        if let Err(error) = self.backlog.release(claim.clone()).await {
            tracing::error!(%error, call = %claim.id, "a call could not be given back yet");
            self.unwritten.lock().push((claim, None));
        }
        self.changed.notify_waiters();
    }

    /// Leaves a call whose work was dropped: it runs again, or its outcome is unknown.
    pub(super) fn abandon(&self, claim: Claim, tool: &str, idempotent: bool) {
        self.tokens.lock().remove(&claim.id);
        let end = CallEnd::new(CallState::OutcomeUnknown, ToolResult::outcome_unknown(tool));
        self.unwritten.lock().push((claim, (!idempotent).then_some(end)));
    }

    /// Ends a call of which it is not known whether it was accepted; it has not run.
    pub(super) fn withdraw(&self, claim: Claim, tool: &str) {
        self.tokens.lock().remove(&claim.id);
        let end = CallEnd::new(CallState::Cancelled, results::cancelled_of(tool));
        self.unwritten.lock().push((claim, Some(end)));
    }

    /// Shows that the journal lives, hears of calls to cancel, writes what is left to write, and
    /// ends what others left.
    async fn keep_alive(&self, beats: u32) -> Result<(), StoreError> {
        let unwritten = std::mem::take(&mut *self.unwritten.lock());
        for (claim, end) in unwritten {
            let written = match &end {
                Some(end) => self.write(&claim, end).await.map(drop),
                None => self.backlog.release(claim.clone()).await.map(drop),
            };
            if written.is_err() {
                self.unwritten.lock().push((claim, end));
            }
        }
        let cancelled = self.backlog.beat().await?;
        {
            let tokens = self.tokens.lock();
            let cancelled = cancelled.iter().filter_map(|id| tokens.get(id));
            cancelled.for_each(CancellationToken::cancel);
        }
        self.recover().await?;
        if beats.is_multiple_of(16) { self.purge().await } else { Ok(()) }
    }

    async fn purge(&self) -> Result<(), StoreError> {
        if let Some(before) = SystemTime::now().checked_sub(self.settings.retention) {
            self.backlog.purge(before).await?;
            if let Some(file) = &self.file {
                file.purge_runs(before).await?;
            }
        }
        Ok(())
    }
}

/// Starts the thread that keeps a journal alive until its last clone is dropped.
///
/// It has a runtime of its own, so that handlers which block that of the program do not cost them
/// their claims.
fn supervise(journal: Weak<JournalInner>) -> Result<(), StoreError> {
    let failed = |error| StoreError::Failed(Arc::new(error));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(failed)?;
    let work = async move {
        let mut beats = 0_u32;
        while let Some(inner) = journal.upgrade() {
            if let Err(error) = inner.keep_alive(beats).await {
                tracing::error!(%error, "the journal could not show that it lives");
            }
            beats = beats.wrapping_add(1);
            let until = tokio::time::Instant::now() + inner.settings.lease / 3;
            drop(inner);
            // In short steps, so that the thread ends soon after the journal was dropped.
            while tokio::time::Instant::now() < until && journal.strong_count() > 0 {
                tokio::time::sleep(POLL).await;
            }
        }
    };
    let thread = std::thread::Builder::new().name("toolbox-journal-beat".to_owned());
    thread.spawn(move || runtime.block_on(work)).map_err(failed)?;
    Ok(())
}

/// Returns the digest of the parts of a definition that its callers rely on.
pub(super) fn digest(definition: &ToolDefinition) -> String {
    let mut digest = Sha256::new();
    digest.update(definition.name.as_bytes());
    digest.update([0]);
    digest.update(definition.input_schema.to_string().as_bytes());
    hex(&digest.finalize()[..16])
}

fn not_accepted(definition: &ToolDefinition, error: StoreError) -> ToolResult {
    tracing::error!(tool = definition.name, %error, "a call could not be accepted");
    let text = format!(
        "the call of tool `{}` was not accepted, and has not run: {error}",
        definition.name
    );
    match &error {
        StoreError::OverQuota(_) => ToolResult::refusal(FailureKind::Busy, text),
        StoreError::Busy(_) | StoreError::Full(_) => {
            ToolResult::refusal(FailureKind::Busy, text).with_error(error)
        }
        _ => ToolError::infrastructure(error).with_message(text).into(),
    }
}

/// Returns the final state of a call by its result.
pub(super) fn end_of(result: &ToolResult, idempotent: bool) -> CallEnd {
    let state = match result.failure_kind() {
        _ if !result.is_error() => CallState::Done,
        Some(FailureKind::Cancelled) => CallState::Cancelled,
        Some(FailureKind::OutcomeUnknown) => CallState::OutcomeUnknown,
        Some(FailureKind::TimedOut) if !idempotent => CallState::OutcomeUnknown,
        Some(FailureKind::Expired) => CallState::Expired,
        _ => CallState::Failed,
    };
    CallEnd::new(state, result.clone())
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("id", &self.id()).finish_non_exhaustive()
    }
}
