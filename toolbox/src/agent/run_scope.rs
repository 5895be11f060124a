//! State that an agent passes to the agents below it: the agents at work, the budgets.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::budget::Budgets;
use super::handle::PauseFlag;
use super::paused::{Decisions, Paused};
use crate::collection::ToolBox;
use crate::cost::Prices;
use crate::sync::Mutex;

/// State that a run passes to the agents below it, in the context of its calls.
#[derive(Clone)]
pub(super) struct RunScope {
    /// The agents at work, from the first.
    pub(super) agents: Arc<[AgentId]>,
    pub(super) path: Arc<[String]>,
    pub(super) budgets: Budgets,
    pub(super) nested: Arc<NestedRuns>,
    /// The box of the innermost run, whose tools an agent below may inherit.
    pub(super) toolbox: Option<ToolBox>,
    /// The limit of agents at work above one another: the strictest that any of them sets.
    pub(super) max_depth: u32,
    /// The wishes that the run pauses: its own, and those of the runs above that wait for it.
    pub(super) pauses: Arc<[PauseFlag]>,
    /// The prices of the innermost run, for agents that have none of their own.
    pub(super) prices: Option<Arc<dyn Prices>>,
    /// The number of times that the conversation may still be handed over.
    pub(super) handoffs_left: u32,
}

impl Default for RunScope {
    fn default() -> Self {
        Self {
            agents: Arc::default(),
            path: Arc::default(),
            budgets: Budgets::default(),
            nested: Arc::default(),
            toolbox: None,
            max_depth: u32::MAX,
            pauses: Arc::default(),
            prices: None,
            handoffs_left: 0,
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
