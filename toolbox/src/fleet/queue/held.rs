//! The calls that a relay handed over, and what it knows of each.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::mark::Mark;
use crate::call::{FailureKind, JobId, ToolResult};
use crate::durable::{CallEnd, CallState, Claim, RecordedCall};
use crate::fleet::wire::INLINE;

/// A call that a place holds.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct HeldCall {
    pub(super) claim: Claim,
    pub(super) tool: String,
    pub(super) idempotent: bool,
    pub(super) expires: SystemTime,
    pub(super) is_cancelled: bool,
    /// The newest mark that was seen, and its revision; none if the server has none.
    pub(super) mark: Option<(Mark, u64)>,
    /// The pass of the watch in which the mark was seen.
    pub(super) seen: u64,
    /// `true` if arguments or a result of it may be in the object store.
    pub(super) has_stored: bool,
    /// The position in the order in which calls were handed over.
    order: u64,
    /// The time at which it is looked after.
    pub(super) due: Instant,
    /// The time since which the server has lost something of it, and the last pass of the watch
    /// then.
    pub(super) lost: Option<(Instant, u64)>,
    /// `true` while something is under way for it.
    pub(super) is_busy: bool,
    /// The revision of the result that it was given.
    pub(super) result: Option<u64>,
    /// The end that is to be written.
    pub(super) end: Option<CallEnd>,
}

/// The next thing to do for a call.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Write the end of the call.
    Finish(CallEndKind),
    /// Take the ticket back, so that it is not begun any more.
    Void,
    /// Ask whether its message is in the queue.
    Look,
    /// Wait for a newer state.
    Wait,
}

/// The end that a relay itself gives a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEndKind {
    Cancelled,
    Expired,
    Unknown,
}

impl HeldCall {
    /// Returns `true` as long as it has neither a result nor an end.
    pub(super) fn is_open(&self) -> bool {
        self.result.is_none() && self.end.is_none()
    }

    /// Returns the time at which it is looked after next: at most so far away, and when it expires.
    pub(super) fn due_within(&self, time: Duration) -> Instant {
        let left = self.expires.duration_since(SystemTime::now()).ok();
        let left = left.filter(|left| !left.is_zero()).unwrap_or(time);
        Instant::now() + left.saturating_add(Duration::from_millis(1)).min(time)
    }

    pub(super) fn is_over(&self) -> bool {
        self.expires <= SystemTime::now()
    }

    /// Returns the next thing to do for a call that is due.
    pub(super) fn step(&self) -> Step {
        match &self.mark {
            Some((Mark::Void, _)) if self.is_cancelled => Step::Finish(CallEndKind::Cancelled),
            Some((Mark::Void, _)) => Step::Finish(CallEndKind::Expired),
            Some((Mark::Ticket { .. }, _)) if self.is_cancelled || self.is_over() => Step::Void,
            Some(_) => Step::Look,
            None => Step::Wait,
        }
    }

    /// Returns what follows once the server has had no message and no result of a call that was
    /// begun, or no trace of it at all, for long enough; none if it is to be published again.
    pub(super) fn end_of_lost(&self) -> Option<CallEndKind> {
        match self.idempotent {
            true if self.is_cancelled => Some(CallEndKind::Cancelled),
            true if self.is_over() => Some(CallEndKind::Unknown),
            true => None,
            false => Some(CallEndKind::Unknown),
        }
    }

    /// Returns the end of a kind.
    pub(super) fn ended(&self, kind: CallEndKind) -> CallEnd {
        let tool = &self.tool;
        match kind {
            CallEndKind::Cancelled => {
                let text = format!("the call of tool `{tool}` was cancelled");
                let result = ToolResult::refusal(FailureKind::Cancelled, text);
                CallEnd::new(CallState::Cancelled, result)
            }
            CallEndKind::Expired => {
                let text = format!("the call of tool `{tool}` expired before it could run");
                let result = ToolResult::refusal(FailureKind::Expired, text);
                CallEnd::new(CallState::Expired, result)
            }
            CallEndKind::Unknown => {
                CallEnd::new(CallState::OutcomeUnknown, ToolResult::outcome_unknown(tool))
            }
        }
    }
}

/// The calls that the places of a relay hold.
#[derive(Default)]
pub(super) struct Held {
    calls: HashMap<JobId, HeldCall>,
    /// The ids by the order in which they were handed over.
    orders: BTreeMap<u64, JobId>,
    next: u64,
    /// The calls that ended and of which the server may still have something: their orders, and the
    /// revisions of the results that ended them.
    ended: HashMap<JobId, (u64, Option<u64>)>,
    /// The newest point at which there was no ticket of a call that is not held yet.
    point: Option<Cut>,
    cut: Option<Cut>,
}

/// A point in time; once all calls before it have ended, what the server has of them is removed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    order: u64,
    since: Instant,
    pub(super) position: u64,
    pub(super) revision: u64,
}

impl Held {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Adds a call that was handed over.
    pub(super) fn add(
        &mut self,
        call: &RecordedCall,
        mark: Option<(Mark, u64)>,
        seen: u64,
        due: Instant,
    ) {
        let order = self.next;
        self.next += 1;
        let place = call.owner.clone().unwrap_or_default();
        let mut held = HeldCall {
            claim: Claim::new(call.id.clone(), call.attempt).at(place),
            tool: call.tool.clone(),
            idempotent: call.idempotent,
            expires: call.expires,
            is_cancelled: call.is_cancelled,
            mark,
            seen,
            has_stored: call.arguments.as_str().len() > INLINE / 2,
            order,
            due,
            lost: None,
            is_busy: false,
            result: None,
            end: None,
        };
        held.due = due.min(held.due_within(due.saturating_duration_since(Instant::now())));
        if let Some(before) = self.calls.insert(call.id.clone(), held) {
            self.orders.remove(&before.order);
        }
        self.orders.insert(order, call.id.clone());
    }

    pub(super) fn get(&self, id: &JobId) -> Option<&HeldCall> {
        self.calls.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &JobId) -> Option<&mut HeldCall> {
        self.calls.get_mut(id)
    }

    pub(super) fn remove(&mut self, id: &JobId) {
        if let Some(call) = self.calls.remove(id) {
            self.orders.remove(&call.order);
            self.ended.insert(id.clone(), (call.order, call.result));
        }
    }

    /// Gives a call back that was not begun.
    pub(super) fn forget(&mut self, id: &JobId) {
        self.remove(id);
        self.ended.remove(id);
    }

    /// Returns `true` if this very result of a call was taken already.
    pub(super) fn has_taken(&self, id: &JobId, revision: u64) -> bool {
        let of_held = self.calls.get(id).and_then(|call| call.result);
        let taken = of_held.or_else(|| self.ended.get(id).and_then(|(_, result)| *result));
        taken == Some(revision)
    }

    /// Returns the ids of calls that are due and have nothing under way, at most so many.
    pub(super) fn due(&self, now: Instant, most: usize) -> Vec<JobId> {
        let is_due = |call: &&HeldCall| !call.is_busy && call.due <= now;
        self.calls.values().filter(is_due).take(most).map(|call| call.claim.id.clone()).collect()
    }

    /// Marks the calls of a place as lost whose marks the newest pass of its watch did not show.
    pub(super) fn note_current(&mut self, place: &str, pass: u64) {
        for call in self.calls.values_mut() {
            if call.claim.place.as_deref() == Some(place) && call.seen < pass {
                call.mark = None;
            }
        }
    }

    /// Notes what the server has stored of the calls so far; there is no call whose ticket is
    /// written and that is not held yet.
    pub(super) fn note_point(&mut self, position: u64, revision: u64) {
        let (order, since) = (self.next, Instant::now());
        self.point = Some(Cut { order, since, position, revision });
    }

    /// Returns what the server has and needs no more, once the calls of it have ended for `rest`.
    pub(super) fn cut(&mut self, rest: Duration, now: Instant) -> Option<Cut> {
        if self.cut.is_none() {
            self.cut = self.point.take();
        }
        let cut = self.cut?;
        let is_over = self.orders.first_key_value().is_none_or(|(first, _)| *first >= cut.order);
        if !is_over || now.duration_since(cut.since) < rest {
            return None;
        }
        self.cut = None;
        self.ended.retain(|_, (order, _)| *order >= cut.order);
        Some(cut)
    }

    /// Forgets a cut: positions and revisions begin again.
    pub(super) fn forget_cut(&mut self) {
        (self.cut, self.point) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Arguments;
    use crate::durable::NewCall;

    fn call(number: u32) -> RecordedCall {
        let new = NewCall {
            id: JobId::from_text(format!("job_{number}")),
            tool: "t".to_owned(),
            digest: String::new(),
            arguments: Arguments::from("{}"),
            context: "{}".to_owned(),
            call_id: String::new(),
            conversation: None,
            idempotent: false,
            expires: SystemTime::now() + Duration::from_secs(60),
        };
        RecordedCall::new(new, SystemTime::now())
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_of_a_call_is_removed_before_it_ended() {
        let (mut held, rest) = (Held::default(), Duration::from_secs(2));
        let (first, second) = (call(1), call(2));
        held.add(&first, None, 0, Instant::now());
        held.note_point(10, 20);
        held.add(&second, None, 0, Instant::now());
        assert!(held.cut(rest, Instant::now()).is_none());
        tokio::time::advance(rest).await;
        assert!(held.cut(rest, Instant::now()).is_none(), "the first call has not ended");
        held.note_point(30, 40);
        held.remove(&first.id);
        let cut = held.cut(rest, Instant::now()).unwrap();
        assert_eq!((cut.position, cut.revision), (10, 20));
        assert!(held.cut(rest, Instant::now()).is_none(), "the second call has not ended");
        held.remove(&second.id);
        assert!(held.cut(rest, Instant::now()).is_none(), "it ended just now");
        tokio::time::advance(rest).await;
        let cut = held.cut(rest, Instant::now()).unwrap();
        assert_eq!((cut.position, cut.revision), (30, 40));
    }

    #[test]
    fn each_state_of_a_call_has_its_step() {
        let ticket = || Some((Mark::Ticket { subject: "s".to_owned() }, 1));
        let void = || Some((Mark::Void, 2));
        let cases = [
            (None, false, Step::Wait),
            (ticket(), false, Step::Look),
            (ticket(), true, Step::Void),
            (void(), true, Step::Finish(CallEndKind::Cancelled)),
            (void(), false, Step::Finish(CallEndKind::Expired)),
        ];
        for (mark, is_cancelled, step) in cases {
            let mut held = Held::default();
            let call = call(1);
            held.add(&call, mark, 0, Instant::now());
            let call = held.get_mut(&call.id).unwrap();
            call.is_cancelled = is_cancelled;
            assert_eq!(call.step(), step);
        }
    }
}
