//! What travels from an agent to the agents below it: who is at work, what may still be spent, who listens.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::event::Sink;
use super::paused::Paused;
use crate::approval::Decision;

/// The decisions of somebody, by the id of the pending call.
pub(super) type Decisions = BTreeMap<String, Decision>;

/// Given with every call of an agent; whoever has it works below that agent.
#[derive(Clone, Default)]
pub(super) struct Lineage {
    /// The agents at work, from the first.
    pub(super) agents: Arc<[AgentId]>,
    pub(super) path: Arc<[String]>,
    pub(super) budgets: Budgets,
    pub(super) sink: Option<Sink>,
    pub(super) nested: Arc<Nested>,
}

/// Tells agents apart; clones of one agent are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AgentId(u64);

impl AgentId {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Runs of agents below, which pause and resume with the run above them; by the id of the call that started each.
#[derive(Default)]
pub(super) struct Nested {
    pub(super) paused: Table<Paused>,
    pub(super) resumed: Table<(Paused, Decisions)>,
}

pub(super) struct Table<T>(Mutex<HashMap<String, T>>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Table<T> {
    pub(super) fn put(&self, call_id: &str, value: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(call_id.to_owned(), value);
    }

    pub(super) fn take(&self, call_id: &str) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(call_id)
    }
}

/// What a run and all below it may spend.
#[derive(Debug)]
pub(super) struct Budget {
    calls: AtomicU64,
    tokens: AtomicU64,
}

impl Budget {
    pub(super) fn new(calls: u64, tokens: u64) -> Self {
        Self { calls: AtomicU64::new(calls), tokens: AtomicU64::new(tokens) }
    }
}

/// The budget of a run and those of the runs above it: all are charged, and any can run out.
#[derive(Debug, Clone, Default)]
pub(super) struct Budgets(Arc<[Arc<Budget>]>);

impl Budgets {
    pub(super) fn with(&self, own: Budget) -> Self {
        Self(self.0.iter().cloned().chain([Arc::new(own)]).collect())
    }

    /// Takes up to `wanted` calls, and returns how many there were.
    pub(super) fn take_calls(&self, wanted: u64) -> u64 {
        self.0.iter().fold(wanted, |wanted, budget| {
            let before = budget
                .calls
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    Some(left.saturating_sub(wanted))
                })
                .unwrap_or_default();
            before.min(wanted)
        })
    }

    pub(super) fn charge_tokens(&self, tokens: u64) {
        for budget in &*self.0 {
            let _ = budget.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(tokens))
            });
        }
    }

    pub(super) fn are_tokens_spent(&self) -> bool {
        self.0.iter().any(|budget| budget.tokens.load(Ordering::Relaxed) == 0)
    }
}
