//! The recorders that the gate asks: of a box, of a submitted call, of a claimed one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::backlog::{CallEnd, Claim, Hold, RecordedCall};
use super::journal::{Journal, JournalInner, end_of};
use super::results;
use crate::ToolBoxBuilder;
use crate::call::{FailureKind, JobId, SharedError, ToolCall, ToolResult};
use crate::collection::ToolBox;
use crate::context::recorder::{CallRecorder, CallToRecord, KeptCall, OpenRecord};
use crate::context::{CancellationToken, CarriedContext, Principal, ToolContext};
use crate::dispatch::Pass;
use crate::future::BoxFuture;
use crate::sync::Mutex;

impl ToolBoxBuilder {
    /// Records calls in a journal: those of [durable](crate::Tool::durable) tools, those of
    /// [background](crate::Tool::background) tools whose caller takes completions, and those that a
    /// due schedule makes. Default: none.
    ///
    /// Each is accepted before it runs, goes on when its caller is dropped, and has its result in
    /// the journal before the caller gets it; [`ToolResult::job`] is its id there.
    pub fn journal(self, journal: &Journal) -> Self {
        self.recorder(Arc::new(BoxRecorder::new(journal)))
    }
}

impl ToolBox {
    /// Accepts a call for a [`Worker`](super::Worker) and returns at once: a
    /// [pending](ToolResult::is_pending) result with the [id](ToolResult::job) of the call. From
    /// then on the call gets exactly one final state.
    ///
    /// The gate checks the call as it does any other: an unknown name, a rule, arguments that do
    /// not fit, a missing approval are answered as failures. So is a journal that is full, as
    /// [`Busy`](FailureKind::Busy). The worker runs it with the principal, the conversation, the
    /// rules, the deadline and the taint of the context, and with no other values of it.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves the call accepted or not.
    pub async fn submit(
        &self,
        journal: &Journal,
        context: &ToolContext,
        call: ToolCall,
    ) -> ToolResult {
        let recorder = SubmitRecorder(Arc::clone(&journal.inner));
        let context = context.clone().with_recorder(Arc::new(recorder));
        self.dispatch(Some(&context), call, Pass::default()).await
    }
}

/// Records the calls of a box, which run here.
pub(super) struct BoxRecorder(Arc<JournalInner>);

impl BoxRecorder {
    pub(super) fn new(journal: &Journal) -> Self {
        Self(Arc::clone(&journal.inner))
    }

    fn journal(&self) -> Journal {
        Journal { inner: Arc::clone(&self.0) }
    }
}

impl CallRecorder for BoxRecorder {
    fn calls_outlive_caller(&self) -> bool {
        true
    }

    fn begin(&self, call: CallToRecord) -> BoxFuture<'_, Result<Box<dyn OpenRecord>, ToolResult>> {
        Box::pin(async move {
            let background = call.job.is_some();
            let hold = if background { Hold::Held } else { Hold::Begun };
            let id = call.job.clone().unwrap_or_else(JobId::new);
            // Made first: if this future is dropped before the answer, the call is ended.
            let record = CallInJournal {
                token: self.0.token(&id, call.context.given_cancellation()),
                claim: Mutex::new(Claim::new(id.clone(), u32::from(!background))),
                id,
                is_accepted: AtomicBool::new(false),
                is_ended: AtomicBool::new(false),
                idempotent: call.definition.annotations.is_idempotent(),
                tool: call.definition.name.clone(),
                journal: Arc::clone(&self.0),
            };
            self.0.accept(&call, &record.id, hold).await?;
            record.is_accepted.store(true, Ordering::Relaxed);
            Ok(Box::new(record) as _)
        })
    }

    fn find(&self, id: JobId) -> BoxFuture<'_, Option<KeptCall>> {
        Box::pin(async move {
            match self.journal().get(&id).await {
                Ok(call) => call.and_then(kept),
                Err(error) => {
                    tracing::warn!(%error, %id, "a call cannot be read from the journal");
                    None
                }
            }
        })
    }

    fn take_pause<'a>(
        &'a self,
        id: &'a str,
        key: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, SharedError>> {
        Box::pin(async move {
            let taken = self.journal().take_pause(id, key).await;
            taken.map_err(|error| Arc::new(error) as SharedError)
        })
    }

    fn cancel(&self, id: JobId) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.journal().cancel(&id).await {
                tracing::warn!(%error, %id, "a call cannot be cancelled in the journal");
            }
        })
    }
}

/// Returns a call without the parts that a worker needs.
fn kept(call: RecordedCall) -> Option<KeptCall> {
    let carried: CarriedContext = serde_json::from_str(&call.context).ok()?;
    Some(KeptCall {
        tool: call.tool,
        principal: carried.principal.map(Principal::new),
        accepted: call.accepted,
        end: call.ended.zip(call.result),
    })
}

/// Accepts calls, which run elsewhere.
struct SubmitRecorder(Arc<JournalInner>);

impl CallRecorder for SubmitRecorder {
    fn calls_outlive_caller(&self) -> bool {
        false
    }

    fn begin(&self, call: CallToRecord) -> BoxFuture<'_, Result<Box<dyn OpenRecord>, ToolResult>> {
        Box::pin(async move {
            let id = JobId::new();
            self.0.accept(&call, &id, Hold::Free).await?;
            let text = format!("the call of tool `{}` was accepted as {id}", call.definition.name);
            Err(ToolResult::background(text).with_job(id).marked_as_gate())
        })
    }
}

/// The record of a call that runs here.
struct CallInJournal {
    id: JobId,
    is_accepted: AtomicBool,
    is_ended: AtomicBool,
    claim: Mutex<Claim>,
    tool: String,
    idempotent: bool,
    token: CancellationToken,
    journal: Arc<JournalInner>,
}

impl Drop for CallInJournal {
    fn drop(&mut self) {
        if *self.is_ended.get_mut() {
            return;
        }
        let claim = self.claim.get_mut().clone();
        let (journal, tool) = (&self.journal, &self.tool);
        if *self.is_accepted.get_mut() {
            journal.abandon(claim, tool, self.idempotent);
        } else {
            journal.withdraw(claim, tool);
        }
    }
}

impl OpenRecord for CallInJournal {
    fn id(&self) -> Option<&JobId> {
        Some(&self.id)
    }

    fn cancellation(&self) -> Option<CancellationToken> {
        Some(self.token.clone())
    }

    fn start(&self) -> BoxFuture<'_, Result<(), ToolResult>> {
        Box::pin(async {
            match self.journal.backlog.begin(&self.id).await {
                Ok(Some(claim)) => {
                    *self.claim.lock() = claim;
                    Ok(())
                }
                Ok(None) => Err(results::cancelled_of(&self.tool)),
                Err(error) => {
                    let text = format!(
                        "the call of tool `{}` has not run: its start could not be recorded",
                        self.tool
                    );
                    Err(ToolResult::refusal(FailureKind::Infrastructure, text).with_error(error))
                }
            }
        })
    }

    fn end<'a>(&'a self, result: &'a ToolResult) -> BoxFuture<'a, ()> {
        Box::pin(async {
            self.is_ended.store(true, Ordering::Relaxed);
            let claim = self.claim.lock().clone();
            self.journal.finish(claim, end_of(result, self.idempotent)).await;
        })
    }
}

/// Records the end of a call that a worker claimed.
pub(super) struct ClaimRecorder {
    journal: Arc<JournalInner>,
    call: RecordedCall,
    token: CancellationToken,
    was_begun: AtomicBool,
    is_ended: AtomicBool,
}

impl Drop for ClaimRecorder {
    fn drop(&mut self) {
        if !self.is_ended.load(Ordering::Relaxed) {
            let may_run_again = self.call.idempotent || !self.was_begun.load(Ordering::Relaxed);
            self.journal.abandon(self.claim(), &self.call.tool, may_run_again);
        }
    }
}

impl ClaimRecorder {
    pub(super) fn new(journal: &Arc<JournalInner>, call: RecordedCall) -> Arc<Self> {
        let token = journal.token(&call.id, None);
        let journal = Arc::clone(journal);
        Arc::new(Self {
            journal,
            call,
            token,
            was_begun: AtomicBool::new(false),
            is_ended: AtomicBool::new(false),
        })
    }

    /// Records the result of a call that the gate refused, so that its tool was not begun.
    pub(super) async fn end_unbegun(&self, result: &ToolResult) {
        if !self.was_begun.load(Ordering::Relaxed) {
            self.is_ended.store(true, Ordering::Relaxed);
            self.journal.finish(self.claim(), end_of(result, self.call.idempotent)).await;
        }
    }

    fn claim(&self) -> Claim {
        Claim::new(self.call.id.clone(), self.call.attempt)
    }

    async fn end(&self, result: &ToolResult) {
        self.is_ended.store(true, Ordering::Relaxed);
        let mut end = end_of(result, self.call.idempotent);
        if result.failure_kind() == Some(FailureKind::Panicked) && self.call.idempotent {
            if self.call.attempt < MOST_PANICS {
                return self.journal.release(self.claim()).await;
            }
            end.is_dead = true;
        }
        self.journal.finish(self.claim(), end).await;
    }
}

/// The attempt after which a panic is final.
const MOST_PANICS: u32 = 2;

impl CallRecorder for Arc<ClaimRecorder> {
    fn calls_outlive_caller(&self) -> bool {
        false
    }

    fn begin(&self, _: CallToRecord) -> BoxFuture<'_, Result<Box<dyn OpenRecord>, ToolResult>> {
        let first = !self.was_begun.swap(true, Ordering::Relaxed);
        debug_assert!(first, "a claimed call runs once");
        Box::pin(async move { Ok(Box::new(ClaimedCall(Arc::clone(self))) as Box<dyn OpenRecord>) })
    }
}

struct ClaimedCall(Arc<ClaimRecorder>);

impl OpenRecord for ClaimedCall {
    fn id(&self) -> Option<&JobId> {
        Some(&self.0.call.id)
    }

    fn cancellation(&self) -> Option<CancellationToken> {
        Some(self.0.token.clone())
    }

    fn start(&self) -> BoxFuture<'_, Result<(), ToolResult>> {
        Box::pin(async { Ok(()) })
    }

    fn end<'a>(&'a self, result: &'a ToolResult) -> BoxFuture<'a, ()> {
        Box::pin(self.0.end(result))
    }
}

/// Returns the end of a call that cannot be given to a box at all.
pub(super) fn unusable(tool: &str, why: &str) -> CallEnd {
    let text = format!("the call of tool `{tool}` cannot be run: {why}");
    let result = ToolResult::refusal(FailureKind::Infrastructure, text);
    CallEnd::new(super::CallState::Failed, result)
}
