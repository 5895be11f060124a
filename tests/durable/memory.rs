//! An engine of the tests' own: calls in a map, for one process.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use toolbox::BoxFuture;
use toolbox::call::JobId;
use toolbox::durable::{
    Backlog, CallEnd, CallFilter, CallState, Claim, Hold, NewCall, RecordedCall, Recovered,
};
use toolbox::store::StoreError;

const OWN: &str = "journal_in_memory";

#[derive(Default)]
pub(crate) struct MemoryBacklog(Mutex<BTreeMap<JobId, RecordedCall>>);

type Done<T> = BoxFuture<'static, Result<T, StoreError>>;

fn done<T: Send + 'static>(value: T) -> Done<T> {
    Box::pin(async move { Ok(value) })
}

fn is_free(call: &RecordedCall) -> bool {
    call.state == CallState::Waiting && call.owner.is_none() && call.expires > SystemTime::now()
}

fn begin(call: &mut RecordedCall, owner: &str) {
    call.state = CallState::Running;
    call.attempt += 1;
    call.owner = Some(owner.to_owned());
}

fn end(call: &mut RecordedCall, end: CallEnd) {
    call.state = end.state;
    call.is_dead = end.is_dead;
    call.result = Some(end.result);
    call.owner = None;
    call.ended = Some(SystemTime::now());
}

fn holds(call: &RecordedCall, claim: &Claim) -> bool {
    call.attempt == claim.attempt
        && !call.state.is_final()
        && call.owner.as_deref() == Some(claim.place.as_deref().unwrap_or(OWN))
}

impl MemoryBacklog {
    fn free(&self, tools: &[(String, String)], most: usize) -> Vec<JobId> {
        let calls = self.0.lock().unwrap();
        let own = |call: &&RecordedCall| {
            is_free(call)
                && tools.iter().any(|(name, digest)| *name == call.tool && *digest == call.digest)
        };
        calls.values().filter(own).take(most).map(|call| call.id.clone()).collect()
    }

    fn each(&self, ids: Vec<JobId>, change: impl Fn(&mut RecordedCall)) -> Vec<RecordedCall> {
        let mut calls = self.0.lock().unwrap();
        let one = |id: JobId| {
            let call = calls.get_mut(&id)?;
            change(call);
            Some(call.clone())
        };
        ids.into_iter().filter_map(one).collect()
    }
}

impl Backlog for MemoryBacklog {
    fn id(&self) -> &str {
        OWN
    }

    fn accept(
        &self,
        call: NewCall,
        hold: Hold,
        max_open: u64,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let mut calls = self.0.lock().unwrap();
        let open = calls.values().filter(|call| !call.state.is_final()).count();
        if u64::try_from(open).unwrap() >= max_open {
            let text = format!("{max_open} calls wait already");
            return Box::pin(async move { Err(StoreError::OverQuota(text)) });
        }
        let mut call = RecordedCall::new(call, SystemTime::now());
        match hold {
            Hold::Held => call.owner = Some(OWN.to_owned()),
            Hold::Begun => begin(&mut call, OWN),
            _ => {}
        }
        calls.insert(call.id.clone(), call);
        done(())
    }

    fn claim(&self, tools: Vec<(String, String)>, most: usize) -> Done<Vec<RecordedCall>> {
        let free = self.free(&tools, most);
        done(self.each(free, |call| begin(call, OWN)))
    }

    fn waiting(&self, tools: Vec<(String, String)>, most: usize) -> Done<Vec<RecordedCall>> {
        let free = self.free(&tools, most);
        done(self.each(free, |_| {}))
    }

    fn hand_over(&self, ids: Vec<JobId>, place: String) -> Done<Vec<RecordedCall>> {
        let mut calls = self.0.lock().unwrap();
        let mut given = Vec::new();
        for id in ids {
            if let Some(call) = calls.get_mut(&id).filter(|call| is_free(call)) {
                begin(call, &place);
                given.push(call.clone());
            }
        }
        done(given)
    }

    fn begin(&self, id: &JobId) -> Done<Option<Claim>> {
        let mut calls = self.0.lock().unwrap();
        let held = calls.get_mut(id).filter(|call| call.state == CallState::Waiting);
        done(held.map(|call| {
            begin(call, OWN);
            Claim::new(call.id.clone(), call.attempt)
        }))
    }

    fn finish(&self, claim: Claim, result: CallEnd) -> Done<bool> {
        let mut calls = self.0.lock().unwrap();
        let Some(call) = calls.get_mut(&claim.id) else { return done(false) };
        let holds = holds(call, &claim);
        if holds {
            end(call, result);
        } else {
            call.late += 1;
        }
        done(holds)
    }

    fn release(&self, claim: Claim) -> Done<bool> {
        let mut calls = self.0.lock().unwrap();
        let held = calls.get_mut(&claim.id).filter(|call| holds(call, &claim));
        done(held.is_some_and(|call| {
            call.state = CallState::Waiting;
            call.owner = None;
            call.attempt -= u32::from(claim.place.is_some());
            true
        }))
    }

    fn cancel(&self, id: &JobId) -> Done<bool> {
        let mut calls = self.0.lock().unwrap();
        let open = calls.get_mut(id).filter(|call| !call.state.is_final());
        done(open.is_some_and(|call| {
            if call.state == CallState::Running {
                call.is_cancelled = true;
            } else {
                let text =
                    format!("the call of tool `{}` was cancelled; it has not run", call.tool);
                let result =
                    toolbox::ToolResult::failure(toolbox::call::FailureKind::Cancelled, text);
                end(call, CallEnd::new(CallState::Cancelled, result));
            }
            true
        }))
    }

    fn beat(&self) -> Done<Vec<JobId>> {
        let calls = self.0.lock().unwrap();
        let cancelled = calls.values().filter(|call| {
            call.is_cancelled && !call.state.is_final() && call.owner.as_deref() == Some(OWN)
        });
        done(cancelled.map(|call| call.id.clone()).collect())
    }

    /// No owner but this process can be gone, so there are only calls whose time is over.
    fn recover(&self, _: Duration, _: u32) -> Done<Recovered> {
        let mut calls = self.0.lock().unwrap();
        let mut recovered = Recovered::default();
        for call in calls.values_mut() {
            let is_waiting = call.state == CallState::Waiting && call.owner.is_none();
            if is_waiting && call.expires <= SystemTime::now() {
                let text = format!("the call of tool `{}` expired before it could run", call.tool);
                let result =
                    toolbox::ToolResult::failure(toolbox::call::FailureKind::Expired, text);
                end(call, CallEnd::new(CallState::Expired, result));
                recovered.expired += 1;
            }
        }
        done(recovered)
    }

    fn get(&self, id: &JobId) -> Done<Option<RecordedCall>> {
        done(self.0.lock().unwrap().get(id).cloned())
    }

    fn list(&self, filter: CallFilter) -> Done<Vec<RecordedCall>> {
        let calls = self.0.lock().unwrap();
        let selected = calls.values().filter(|call| {
            (filter.states.is_empty() || filter.states.contains(&call.state))
                && filter
                    .conversation
                    .as_ref()
                    .is_none_or(|place| call.conversation.as_ref() == Some(place))
                && (!filter.undelivered || call.state.is_final() && call.delivered.is_none())
                && (!filter.dead || call.is_dead)
                && (!filter.cancelled || call.is_cancelled)
                && filter.held_by.as_ref().is_none_or(|place| {
                    call.owner.as_ref().is_some_and(|owner| owner.starts_with(place.as_str()))
                })
                && filter.after.as_ref().is_none_or(|after| call.id > *after)
        });
        done(selected.take(filter.limit).cloned().collect())
    }

    fn deliver(&self, ids: Vec<JobId>) -> Done<Vec<JobId>> {
        let mut calls = self.0.lock().unwrap();
        let mut new = Vec::new();
        for id in ids {
            let ended = calls.get_mut(&id).filter(|call| call.state.is_final());
            if let Some(call) = ended.filter(|call| call.delivered.is_none()) {
                call.delivered = Some(SystemTime::now());
                new.push(id);
            }
        }
        done(new)
    }

    fn purge(&self, ended_before: SystemTime) -> Done<u64> {
        let mut calls = self.0.lock().unwrap();
        let before = calls.len();
        calls.retain(|_, call| call.ended.is_none_or(|ended| ended >= ended_before));
        done(u64::try_from(before - calls.len()).unwrap())
    }
}
