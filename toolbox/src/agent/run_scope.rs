//! State that an agent passes to the agents below it: the agents at work, the budgets, the event
//! sink.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::event::Sink;
use super::handle::PauseFlag;
use super::paused::{Decisions, Paused, Spent};
use crate::collection::ToolBox;
use crate::model::Usage;
use crate::sync::Mutex;

/// State that a run passes to the agents below it, in the context of its calls.
#[derive(Clone)]
pub(super) struct RunScope {
    /// The agents at work, from the first.
    pub(super) agents: Arc<[AgentId]>,
    pub(super) path: Arc<[String]>,
    pub(super) budgets: Budgets,
    pub(super) sink: Option<Sink>,
    pub(super) nested: Arc<NestedRuns>,
    /// The box of the innermost run, whose tools an agent below may inherit.
    pub(super) toolbox: Option<ToolBox>,
    /// The limit of agents at work above one another: the strictest that any of them sets.
    pub(super) max_depth: u32,
    /// The wishes that the run pauses: its own, and those of the runs above that wait for it.
    pub(super) pauses: Arc<[PauseFlag]>,
}

impl Default for RunScope {
    fn default() -> Self {
        Self {
            agents: Arc::default(),
            path: Arc::default(),
            budgets: Budgets::default(),
            sink: None,
            nested: Arc::default(),
            toolbox: None,
            max_depth: u32::MAX,
            pauses: Arc::default(),
        }
    }
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

/// Runs of agents below, which pause and resume with the run above them; by the id of the call that
/// started each.
#[derive(Default)]
pub(super) struct NestedRuns {
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
        self.0.lock().insert(call_id.to_owned(), value);
    }

    pub(super) fn take(&self, call_id: &str) -> Option<T> {
        self.0.lock().remove(call_id)
    }
}

/// The budget of a run and all runs below it.
#[derive(Debug)]
pub(super) struct Budget {
    calls: Meter,
    tokens: Meter,
    /// The tokens used by the requests, by kind.
    usage: Mutex<Usage>,
}

impl Budget {
    pub(super) fn new(calls: u64, tokens: u64) -> Self {
        Self { calls: Meter::new(calls), tokens: Meter::new(tokens), usage: Mutex::default() }
    }
}

#[derive(Debug)]
struct Meter {
    limit: u64,
    spent: AtomicU64,
}

impl Meter {
    fn new(limit: u64) -> Self {
        Self { limit, spent: AtomicU64::new(0) }
    }

    fn spent(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }

    fn left(&self) -> u64 {
        self.limit.saturating_sub(self.spent())
    }

    fn charge(&self, amount: u64) {
        self.update(|spent| spent.saturating_add(amount));
    }

    /// Takes up to `wanted`, and returns how much there was.
    fn take(&self, wanted: u64) -> u64 {
        let left = |spent: u64| self.limit.saturating_sub(spent).min(wanted);
        left(self.update(|spent| spent + left(spent)))
    }

    fn give_back(&self, amount: u64) {
        self.update(|spent| spent.saturating_sub(amount));
    }

    /// Changes what was spent, and returns what it was.
    fn update(&self, change: impl Fn(u64) -> u64) -> u64 {
        let update = |spent| Some(change(spent));
        let before = self.spent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
        before.unwrap_or_default()
    }
}

/// The budget of a run and those of the runs above it: all are charged, and any can run out.
#[derive(Debug, Clone, Default)]
pub(super) struct Budgets(Arc<[Arc<Budget>]>);

impl Budgets {
    pub(super) fn with(&self, own: Budget) -> Self {
        Self(self.0.iter().cloned().chain([Arc::new(own)]).collect())
    }

    /// Takes up to `wanted` calls, and returns how many there were: as many as the shortest budget
    /// has.
    pub(super) fn take_calls(&self, wanted: u64) -> u64 {
        let mut granted = wanted;
        let taken: Vec<u64> = self
            .0
            .iter()
            .map(|budget| {
                granted = budget.calls.take(granted);
                granted
            })
            .collect();
        for (budget, taken) in self.0.iter().zip(taken) {
            budget.calls.give_back(taken - granted);
        }
        granted
    }

    /// Charges every run for what one request cost.
    pub(super) fn charge_usage(&self, usage: Usage) {
        for budget in &*self.0 {
            budget.tokens.charge(usage.total_tokens());
            *budget.usage.lock() += usage;
        }
    }

    /// Returns what the innermost run cost, with the runs below it.
    pub(super) fn usage(&self) -> Usage {
        let own = self.0.last();
        own.map_or_else(Usage::default, |own| *own.usage.lock())
    }

    /// Returns the calls and the tokens that are left.
    pub(super) fn left(&self) -> (u64, u64) {
        let left = |meter: fn(&Budget) -> &Meter| {
            let of = |budget: &Arc<Budget>| meter(budget).left();
            self.0.iter().map(of).min().unwrap_or(u64::MAX)
        };
        (left(|budget| &budget.calls), left(|budget| &budget.tokens))
    }

    /// Charges every run for calls that were made elsewhere.
    pub(super) fn charge_calls(&self, calls: u64) {
        self.0.iter().for_each(|budget| budget.calls.charge(calls));
    }

    pub(super) fn are_tokens_spent(&self) -> bool {
        self.0.iter().any(|budget| budget.tokens.spent() >= budget.tokens.limit)
    }

    /// Returns what the innermost run spent.
    pub(super) fn spent(&self) -> Spent {
        self.0.last().map_or_else(Spent::default, |own| Spent {
            calls: own.calls.spent(),
            tokens: own.tokens.spent(),
        })
    }

    /// Charges the innermost run for what it spent before it paused; each run above knows its own.
    pub(super) fn resume(&self, spent: Spent, usage: Usage) {
        if let Some(own) = self.0.last() {
            *own.usage.lock() += usage;
            own.calls.charge(spent.calls);
            own.tokens.charge(spent.tokens);
        }
    }
}
