//! Sums of what events say was spent.
//!
//! The functions are inline, so that only a program that uses them compiles them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::event::{Event, EventKind, ToolFinished};
use super::sink::EventSink;
use crate::cost::{Cost, Money};
use crate::model::Usage;
use crate::sync::Mutex;

/// The most names of one kind that are kept apart; the sums of others are under `*`.
const MAX_NAMES: usize = 10_000;

/// Adds up the tokens, the money and the calls of events: by principal, model, agent and tool.
///
/// Attach its [sink](Self::sink) to a box or an agent. Clones are the same ledger. It is kept in
/// memory, with at most 10 000 names of each kind; further ones are added up under `*`.
///
/// ```
/// use toolbox::event::Ledger;
/// use toolbox::{tool, tools, ToolBox, ToolCall};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let ledger = Ledger::new();
/// let toolbox = ToolBox::builder().tools(tools![add]).events(ledger.sink()).build().unwrap();
/// toolbox.call(ToolCall::new("c1", "add", r#"{"a": 2, "b": 3}"#)).await;
/// toolbox.call(ToolCall::new("c2", "add", r#"{"a": 2}"#)).await;
/// let calls = ledger.by_tool()["add"];
/// assert_eq!((calls.calls, calls.failed_calls), (2, 1));
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<LedgerSums>>);

#[derive(Default)]
struct LedgerSums {
    total: LedgerEntry,
    principals: BTreeMap<String, LedgerEntry>,
    models: BTreeMap<String, LedgerEntry>,
    agents: BTreeMap<String, LedgerEntry>,
    tools: BTreeMap<String, LedgerEntry>,
}

/// The spending under one name of a [`Ledger`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LedgerEntry {
    /// The number of replies of models.
    pub requests: u64,
    /// The tokens of requests, and of what runs were charged for beside them.
    pub usage: Usage,
    /// The cost of those tokens.
    pub cost: Cost,
    /// The number of calls that have a result.
    pub calls: u64,
    /// The number of those that failed.
    pub failed_calls: u64,
}

impl LedgerEntry {
    #[inline]
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.usage += other.usage;
        self.cost += other.cost;
        self.calls += other.calls;
        self.failed_calls += other.failed_calls;
    }

    #[inline]
    fn of_tokens(requests: u64, usage: &Usage, price: Option<Money>) -> Self {
        let cost = price.map_or_else(|| Cost::unpriced(usage), Cost::new);
        Self { requests, usage: *usage, cost, ..Self::default() }
    }

    #[inline]
    fn of_call(end: &ToolFinished) -> Self {
        Self { calls: 1, failed_calls: u64::from(end.is_error()), ..Self::default() }
    }
}

impl Ledger {
    /// Returns a ledger without entries.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a sink that adds events to the ledger.
    #[must_use]
    #[inline]
    pub fn sink(&self) -> EventSink {
        let ledger = self.clone();
        EventSink::from_fn(move |event| ledger.add(&event))
    }

    /// Adds one event, such as one that was read from a file.
    #[inline]
    pub fn add(&self, event: &Event) {
        let (entry, model, called) = match &event.kind {
            EventKind::ModelFinished { model, usage, cost, .. } => {
                (LedgerEntry::of_tokens(1, usage, *cost), Some(model), None)
            }
            EventKind::Charged { model, usage, cost, .. } => {
                let entry = LedgerEntry { usage: *usage, cost: *cost, ..LedgerEntry::default() };
                (entry, Some(model), None)
            }
            EventKind::ToolFinished(end) => (LedgerEntry::of_call(end), None, Some(&end.tool)),
            _ => return,
        };
        let sums = &mut *self.0.lock();
        sums.total.add(&entry);
        put(&mut sums.principals, event.principal.as_deref().unwrap_or_default(), &entry);
        if let Some(model) = model {
            put(&mut sums.models, model, &entry);
        }
        if let Some(agent) = event.path.last() {
            put(&mut sums.agents, agent, &entry);
        }
        match called {
            Some(tool) => put(&mut sums.tools, tool, &entry),
            // What an agent below spends is spent by the tools that it was called as.
            None => event.path.iter().skip(1).for_each(|tool| put(&mut sums.tools, tool, &entry)),
        }
    }

    /// Returns the sum of all.
    #[must_use]
    #[inline]
    pub fn total(&self) -> LedgerEntry {
        self.0.lock().total
    }

    /// Returns the sums by the id of the principal; calls for none are under an empty name.
    #[must_use]
    #[inline]
    pub fn by_principal(&self) -> BTreeMap<String, LedgerEntry> {
        self.0.lock().principals.clone()
    }

    /// Returns the sums by the name of the model that replied.
    #[must_use]
    #[inline]
    pub fn by_model(&self) -> BTreeMap<String, LedgerEntry> {
        self.0.lock().models.clone()
    }

    /// Returns the sums by the name of the agent, without those below it.
    #[must_use]
    #[inline]
    pub fn by_agent(&self) -> BTreeMap<String, LedgerEntry> {
        self.0.lock().agents.clone()
    }

    /// Returns the sums by tool: its calls, and for an agent that was called as one, what it and
    /// the agents below it spent.
    #[must_use]
    #[inline]
    pub fn by_tool(&self) -> BTreeMap<String, LedgerEntry> {
        self.0.lock().tools.clone()
    }
}

#[inline]
fn put(entries: &mut BTreeMap<String, LedgerEntry>, name: &str, entry: &LedgerEntry) {
    let is_room = entries.len() < MAX_NAMES || entries.contains_key(name);
    let name = if is_room { name } else { "*" };
    match entries.get_mut(name) {
        Some(own) => own.add(entry),
        None => {
            entries.insert(name.to_owned(), *entry);
        }
    }
}

impl fmt::Debug for Ledger {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("total", &self.total()).finish_non_exhaustive()
    }
}
