//! The engine below a journal.

use std::time::{Duration, SystemTime};

use crate::call::{Arguments, JobId, ToolResult};
use crate::context::Conversation;
use crate::future::BoxFuture;
use crate::store::StoreError;

/// The state of a call in a journal.
///
/// Each accepted call gets exactly one of the last five, once.
///
/// ```
/// use toolbox::durable::{CallFilter, CallState};
///
/// let open = CallFilter::default().with_state(CallState::Waiting).with_state(CallState::Running);
/// assert!(!CallState::Running.is_final());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallState {
    /// Accepted, and claimed by nobody or waiting for its permits.
    Waiting,
    /// A process runs it.
    Running,
    /// The tool returned a result that is no failure.
    Done,
    /// The call failed; the result says why.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// The process that ran it died or lost its claim, or the call ran out of time, and the tool is
    /// not idempotent: it took effect or not. It does not run again.
    OutcomeUnknown,
    /// Its time was over before it ran.
    Expired,
}

impl CallState {
    /// Every state, with the text that stands for it in a file.
    pub(crate) const ALL: [Self; 7] = [
        Self::Waiting,
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
        Self::OutcomeUnknown,
        Self::Expired,
    ];

    /// Returns the stable code of the state, such as `outcome_unknown`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Expired => "expired",
        }
    }

    /// Returns `true` if the state does not change any more.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

impl std::fmt::Display for CallState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code())
    }
}

/// A call to be accepted by a [`Backlog`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NewCall {
    /// The id, which is the call's key in every engine.
    pub id: JobId,
    /// The name of the tool.
    pub tool: String,
    /// The digest of the tool's definition; only tools with the same are given the call.
    pub digest: String,
    /// The arguments, valid when the call was accepted.
    pub arguments: Arguments,
    /// The part of the context that leaves the process, as JSON.
    pub context: String,
    /// The id that the model gave the call.
    pub call_id: String,
    /// The conversation that is to have the result.
    pub conversation: Option<Conversation>,
    /// `true` if the call may run again after its process died.
    pub idempotent: bool,
    /// The time after which the call is not begun any more.
    pub expires: SystemTime,
}

/// A call as a [`Backlog`] keeps it.
///
/// An engine of your own makes one when it accepts a call, and changes its fields as the call goes
/// on:
///
/// ```
/// use std::time::SystemTime;
/// use toolbox::durable::{CallState, NewCall, RecordedCall};
///
/// fn accept(call: NewCall) -> RecordedCall {
///     let recorded = RecordedCall::new(call, SystemTime::now());
///     assert_eq!(recorded.state, CallState::Waiting);
///     assert_eq!((recorded.attempt, recorded.owner.as_deref()), (0, None));
///     recorded
/// }
///
/// fn end_unknown(call: &mut RecordedCall) {
///     call.state = CallState::OutcomeUnknown;
///     call.owner = None;
/// }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordedCall {
    /// The id.
    pub id: JobId,
    /// The name of the tool.
    pub tool: String,
    /// The digest of the tool's definition when the call was accepted.
    pub digest: String,
    /// The arguments.
    pub arguments: Arguments,
    /// The part of the context that leaves the process, as JSON.
    pub context: String,
    /// The id that the model gave the call.
    pub call_id: String,
    /// The conversation that is to have the result.
    pub conversation: Option<Conversation>,
    /// `true` if the call may run again after its process died.
    pub idempotent: bool,
    /// The state.
    pub state: CallState,
    /// The number of times the call was begun.
    pub attempt: u32,
    /// The journal that holds the call, by its [id](super::Journal::id), or the
    /// [place](Backlog::hand_over) that the call was handed over to.
    pub owner: Option<String>,
    /// `true` if it is to be cancelled by its owner.
    pub is_cancelled: bool,
    /// `true` if it failed because its attempts were used up.
    pub is_dead: bool,
    /// The number of results that came too late and were discarded.
    pub late: u32,
    /// The time at which it was accepted.
    pub accepted: SystemTime,
    /// The time after which it is not begun any more.
    pub expires: SystemTime,
    /// The time of the final state.
    pub ended: Option<SystemTime>,
    /// The time at which the result was [delivered](super::Journal::confirm_delivery).
    pub delivered: Option<SystemTime>,
    /// The result, there once the state is final. A journal returns it under the model's id.
    pub result: Option<ToolResult>,
}

impl RecordedCall {
    /// Returns a call that was just accepted: it waits, for anybody.
    #[must_use]
    pub fn new(call: NewCall, accepted: SystemTime) -> Self {
        Self {
            id: call.id,
            tool: call.tool,
            digest: call.digest,
            arguments: call.arguments,
            context: call.context,
            call_id: call.call_id,
            conversation: call.conversation,
            idempotent: call.idempotent,
            state: CallState::Waiting,
            attempt: 0,
            owner: None,
            is_cancelled: false,
            is_dead: false,
            late: 0,
            accepted,
            expires: call.expires,
            ended: None,
            delivered: None,
            result: None,
        }
    }
}

impl RecordedCall {
    /// Gives the result the id of the call, which engines keep beside it.
    pub(super) fn under_its_id(mut self) -> Self {
        let result = self.result.take();
        self.result = result.map(|result| result.with_call_id(self.call_id.clone()));
        self
    }
}

/// A right to run one attempt of a call, and the fence of its result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// The call.
    pub id: JobId,
    /// The attempt: a result of another is discarded.
    pub attempt: u32,
    /// The [place](Backlog::hand_over) that holds the call; none if this opening of the engine
    /// does.
    pub place: Option<String>,
}

impl Claim {
    /// Returns the claim of an attempt.
    #[must_use]
    pub fn new(id: JobId, attempt: u32) -> Self {
        Self { id, attempt, place: None }
    }

    /// Returns the claim of an attempt that was handed over to a place.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Self { place: Some(place.into()), ..self }
    }
}

/// The end of an attempt.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallEnd {
    /// The final state.
    pub state: CallState,
    /// The result.
    pub result: ToolResult,
    /// `true` if the call failed because its attempts were used up.
    pub is_dead: bool,
}

impl CallEnd {
    /// Returns an end.
    ///
    /// # Panics
    ///
    /// If the state is not final.
    #[must_use]
    pub fn new(state: CallState, result: ToolResult) -> Self {
        assert!(state.is_final(), "{state} is no final state");
        Self { state, result, is_dead: false }
    }
}

/// A selection of calls. The default selects all, in pages of 100.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallFilter {
    /// The states; all if empty.
    pub states: Vec<CallState>,
    /// The conversation that is to have the result.
    pub conversation: Option<Conversation>,
    /// `true` for calls with a final state whose result is not delivered yet.
    pub undelivered: bool,
    /// `true` for calls whose attempts were used up.
    pub dead: bool,
    /// The places that hold the call, by what their names begin with.
    pub held_by: Option<String>,
    /// `true` for calls that their owner is to cancel.
    pub cancelled: bool,
    /// The id after which the selection begins, for pages.
    pub after: Option<JobId>,
    /// The most calls.
    pub limit: usize,
}

impl Default for CallFilter {
    fn default() -> Self {
        let (states, limit) = (Vec::new(), 100);
        Self {
            states,
            conversation: None,
            undelivered: false,
            dead: false,
            held_by: None,
            cancelled: false,
            after: None,
            limit,
        }
    }
}

impl CallFilter {
    /// Selects calls in a state, beside those in other states that were named.
    #[must_use]
    pub fn with_state(mut self, state: CallState) -> Self {
        self.states.push(state);
        self
    }

    /// Selects the calls of a conversation.
    #[must_use]
    pub fn of_conversation(mut self, conversation: Conversation) -> Self {
        self.conversation = Some(conversation);
        self
    }

    /// Selects calls with a final state whose result is not delivered yet.
    #[must_use]
    pub fn undelivered(mut self) -> Self {
        self.undelivered = true;
        self
    }

    /// Selects calls whose attempts were used up.
    #[must_use]
    pub fn dead(mut self) -> Self {
        self.dead = true;
        self
    }

    /// Selects calls that were [handed over](Backlog::hand_over) to places whose names begin so.
    #[must_use]
    pub fn held_by(mut self, places: impl Into<String>) -> Self {
        self.held_by = Some(places.into());
        self
    }

    /// Selects calls that their owner is to cancel.
    #[must_use]
    pub fn cancelled(mut self) -> Self {
        self.cancelled = true;
        self
    }

    /// Begins after a call: the last of the page before.
    #[must_use]
    pub fn after(mut self, id: JobId) -> Self {
        self.after = Some(id);
        self
    }

    /// Sets the most calls of a page.
    #[must_use]
    pub fn limit(mut self, calls: usize) -> Self {
        self.limit = calls;
        self
    }
}

/// The changes of a [recovery](Backlog::recover).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// Calls that may run again.
    pub waiting: u64,
    /// Calls that ended as [`OutcomeUnknown`](CallState::OutcomeUnknown).
    pub unknown: u64,
    /// Calls that [expired](CallState::Expired).
    pub expired: u64,
    /// Calls whose attempts were used up.
    pub dead: u64,
    /// Calls that ended because their rows cannot be [read](super::Journal::unreadable).
    pub unreadable: u64,
    /// Runs that may go on.
    pub runs: u64,
}

/// The beginning of the name of each place that calls are [handed over](Backlog::hand_over) to. Ids
/// of journals begin otherwise.
pub const PLACE: &str = "place:";

/// The engine below a [`Journal`](super::Journal): it keeps calls until they have a final state.
///
/// When a future of it is ready, its change is kept, also if power fails then. Dropping one leaves
/// the change made completely or not at all. All of it can be called from several processes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no engine for a journal",
    label = "this keeps no calls",
    note = "use `Journal::open(path)`, or implement `toolbox::durable::Backlog`"
)]
pub trait Backlog: Send + Sync + 'static {
    /// Returns the id of this opening of the engine, which owns what is claimed through it.
    fn id(&self) -> &str;

    /// Keeps a call, unless `max_open` calls or more are without a final state: then it is
    /// [`StoreError::OverQuota`]. What other processes accepted since the last
    /// [heartbeat](Self::beat) need not be counted.
    fn accept(
        &self,
        call: NewCall,
        hold: Hold,
        max_open: u64,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Claims waiting calls of these tools, the oldest first, each tool given by name and digest.
    fn claim(
        &self,
        tools: Vec<(String, String)>,
        most: usize,
    ) -> BoxFuture<'_, Result<Vec<RecordedCall>, StoreError>>;

    /// Returns calls that [`claim`](Self::claim) would claim, and claims none.
    fn waiting(
        &self,
        tools: Vec<(String, String)>,
        most: usize,
    ) -> BoxFuture<'_, Result<Vec<RecordedCall>, StoreError>>;

    /// Hands waiting calls over to a place outside of this computer's processes, such as a queue on
    /// a server; returns those that still waited. They count as begun from then on, and their owner
    /// is the place: [`recover`](Self::recover) leaves them alone, and they end by a claim
    /// [at](Claim::at) that place. Its name begins with [`PLACE`].
    fn hand_over(
        &self,
        ids: Vec<JobId>,
        place: String,
    ) -> BoxFuture<'_, Result<Vec<RecordedCall>, StoreError>>;

    /// Begins a call that was accepted as held; `None` if it has ended meanwhile.
    fn begin(&self, id: &JobId) -> BoxFuture<'_, Result<Option<Claim>, StoreError>>;

    /// Ends a call. `false` if the claim does not hold any more: the result is counted and
    /// discarded.
    fn finish(&self, claim: Claim, end: CallEnd) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Gives a call back, so that it runs again. One that a place gives back was not begun there:
    /// its attempt does not count.
    fn release(&self, claim: Claim) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Cancels a call that waits; one that runs is told at the next [heartbeat](Self::beat) of its
    /// owner. `false` if it has a final state.
    fn cancel(&self, id: &JobId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Shows the others that this opening lives; returns its calls that are to be cancelled.
    fn beat(&self) -> BoxFuture<'_, Result<Vec<JobId>, StoreError>>;

    /// Ends or frees the calls whose owner is gone, and ends those whose time is over. An owner is
    /// gone if its process is, or if it showed no life for `lease` as seen from here.
    fn recover(
        &self,
        lease: Duration,
        max_attempts: u32,
    ) -> BoxFuture<'_, Result<Recovered, StoreError>>;

    /// Returns a call.
    fn get(&self, id: &JobId) -> BoxFuture<'_, Result<Option<RecordedCall>, StoreError>>;

    /// Returns calls in the order of their ids.
    fn list(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<RecordedCall>, StoreError>>;

    /// Marks the results of calls as delivered; returns the ids for which that is new.
    fn deliver(&self, ids: Vec<JobId>) -> BoxFuture<'_, Result<Vec<JobId>, StoreError>>;

    /// Deletes calls that ended before a time, and returns their number.
    fn purge(&self, ended_before: SystemTime) -> BoxFuture<'_, Result<u64, StoreError>>;
}

/// The way in which a call is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hold {
    /// Any worker may claim it.
    Free,
    /// It waits for its owner to [begin](Backlog::begin) it.
    Held,
    /// It runs at once.
    Begun,
}
