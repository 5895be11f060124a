//! Limits on what runs may spend: each run's own, and those that several runs share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::paused::Spent;
use super::spending::{Spending, SpendingAccount};
use crate::cost::{Cost, Money};
use crate::model::Usage;
use crate::sync::Mutex;

/// The limit of money where there is none.
pub(super) const UNLIMITED: Money = Money::from_picos(u64::MAX);

/// Limits on tokens, money, calls and requests, for a [`SharedBudget`]. Default: none of them is
/// limited.
///
/// ```
/// use toolbox::agent::UsageLimits;
///
/// let limits = UsageLimits::new().max_tokens(100_000).max_requests(50);
/// assert_ne!(limits, UsageLimits::default());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageLimits {
    pub(crate) tokens: u64,
    pub(crate) calls: u64,
    pub(crate) requests: u64,
    pub(crate) cost: Money,
}

impl UsageLimits {
    /// Returns limits that limit nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { tokens: u64::MAX, calls: u64::MAX, requests: u64::MAX, cost: UNLIMITED }
    }

    /// Limits the tokens that are read and written.
    ///
    /// They are counted when a reply comes, so each run that was under way goes beyond the limit by
    /// one reply at most.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.tokens = tokens;
        self
    }

    /// Limits the money that the tokens cost.
    ///
    /// Counted as tokens are. A run with this limit asks no model without a
    /// [price](crate::cost::Prices): it fails with
    /// [`RunErrorKind::NoPrice`](super::RunErrorKind::NoPrice).
    #[must_use]
    pub fn max_cost(mut self, cost: Money) -> Self {
        self.cost = cost;
        self
    }

    /// Limits the calls that models make. Never exceeded: calls beyond it are refused. What a tool
    /// calls itself, as [`Gateway`](crate::search::Gateway) does, is part of its own call.
    #[must_use]
    pub fn max_calls(mut self, calls: u64) -> Self {
        self.calls = calls;
        self
    }

    /// Limits the requests to models. Never exceeded; a request that fails counts.
    #[must_use]
    pub fn max_requests(mut self, requests: u64) -> Self {
        self.requests = requests;
        self
    }

    pub(super) fn limits_cost(&self) -> bool {
        self.cost < UNLIMITED
    }

    /// Returns the lower of each two limits.
    pub(super) fn stricter(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.min(other.tokens),
            calls: self.calls.min(other.calls),
            requests: self.requests.min(other.requests),
            cost: self.cost.min(other.cost),
        }
    }
}

impl Default for UsageLimits {
    fn default() -> Self {
        Self::new()
    }
}

/// A budget that several runs share: those of a user, of a day, of a batch.
///
/// Clones are the same budget. Runs get it from their agent
/// ([`AgentBuilder::shared_budget`](super::AgentBuilder::shared_budget)) or with their context
/// ([`ToolContext::with`](crate::ToolContext::with)), and charge it atomically, together with the
/// agents below them; a run that has it twice charges it once. A run that finds it spent stops with
/// [`StopReason::Budget`](super::StopReason::Budget), as it does for limits of its own, which hold
/// beside it.
///
/// A durable run that goes on charges it for what is asked and called from then on. It lives in
/// memory: a program that starts anew makes a new one, with what is left, and one that came with a
/// context has to come again with the context that the run is resumed in. Of agents on other
/// machines, calls and tokens are counted when they end, and requests are not.
///
/// ```
/// use toolbox::agent::{Agent, SharedBudget, StopReason, UsageLimits};
/// use toolbox::testing::ScriptedModel;
/// use toolbox::ToolContext;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Agent::builder(ScriptedModel::answering("Hello.")).build()?;
/// let budget = SharedBudget::new(UsageLimits::new().max_requests(2));
/// let ask = || agent.run("Hi").in_context(ToolContext::new().with(budget.clone()));
///
/// assert_eq!(ask().await?.reason, StopReason::Answered);
/// assert_eq!(ask().await?.reason, StopReason::Answered);
/// assert_eq!(ask().await?.reason, StopReason::Budget);
/// assert_eq!(budget.requests(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SharedBudget(Arc<Budget>);

impl SharedBudget {
    /// Returns a budget of which nothing is spent.
    #[must_use]
    pub fn new(limits: UsageLimits) -> Self {
        Self(Arc::new(Budget { spans_runs: true, ..Budget::of(limits) }))
    }

    /// Returns the tokens used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        *self.0.usage.lock()
    }

    /// Returns what those tokens cost so far.
    #[must_use]
    pub fn cost(&self) -> Cost {
        *self.0.cost.lock()
    }

    /// Returns the number of calls made so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.0.calls.spent()
    }

    /// Returns the number of requests made so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.0.requests.spent()
    }

    /// Returns `true` if one of the limits is reached.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        let meters = [&self.0.tokens, &self.0.calls, &self.0.requests];
        meters.into_iter().any(|meter| meter.left() == 0) || self.0.is_cost_spent()
    }
}

/// The budget of a run and all runs below it, or of several runs.
#[derive(Debug)]
pub(super) struct Budget {
    calls: Meter,
    tokens: Meter,
    requests: Meter,
    /// The tokens used by the requests, by kind.
    usage: Mutex<Usage>,
    /// The most money that they may cost.
    max_cost: Money,
    cost: Mutex<Cost>,
    /// `true` if it outlives the run.
    spans_runs: bool,
}

impl Budget {
    pub(super) fn new(calls: u64, tokens: u64, cost: Money) -> Self {
        Self::of(UsageLimits::new().max_calls(calls).max_tokens(tokens).max_cost(cost))
    }

    fn of(limits: UsageLimits) -> Self {
        Self {
            calls: Meter::new(limits.calls),
            tokens: Meter::new(limits.tokens),
            requests: Meter::new(limits.requests),
            usage: Mutex::default(),
            max_cost: limits.cost,
            cost: Mutex::default(),
            spans_runs: false,
        }
    }

    fn charge_usage(&self, usage: Usage, cost: Cost) {
        self.tokens.charge(usage.total_tokens());
        *self.usage.lock() += usage;
        *self.cost.lock() += cost;
    }

    fn is_cost_spent(&self) -> bool {
        self.limits_cost() && self.cost.lock().money >= self.max_cost
    }

    fn limits_cost(&self) -> bool {
        self.max_cost < UNLIMITED
    }

    fn spent(&self) -> Spent {
        let cost = *self.cost.lock();
        Spent { calls: self.calls.spent(), tokens: self.tokens.spent(), cost }
    }

    fn charge(&self, spent: Spent) {
        self.calls.charge(spent.calls);
        self.tokens.charge(spent.tokens);
        *self.cost.lock() += spent.cost;
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

/// The budgets that a run charges: those of the runs above it, those it shares, and its own. Any
/// can run out.
#[derive(Debug, Clone, Default)]
pub(super) struct Budgets {
    all: Arc<[Arc<Budget>]>,
    /// The positions of the run's own: that of the whole run, then one for each agent that the
    /// conversation was handed to.
    own: Arc<[usize]>,
    /// The limits that outlive the process.
    pub(super) spending: SpendingAccount,
}

impl Budgets {
    /// Returns the budgets of a run below this one.
    pub(super) fn with(&self, own: Budget, shared: &[SharedBudget]) -> Self {
        let (all, spending) = (Arc::clone(&self.all), self.spending.clone());
        Self { all, own: Arc::default(), spending }.and(own, shared)
    }

    /// Returns the budgets of a run after its conversation was handed to another agent.
    pub(super) fn and(&self, own: Budget, shared: &[SharedBudget]) -> Self {
        let mut all: Vec<_> = self.all.iter().cloned().collect();
        for SharedBudget(budget) in shared {
            if !all.iter().any(|known| Arc::ptr_eq(known, budget)) {
                all.push(Arc::clone(budget));
            }
        }
        let own_positions = self.own.iter().copied().chain([all.len()]).collect();
        all.push(Arc::new(own));
        Self { all: all.into(), own: own_positions, spending: self.spending.clone() }
    }

    fn of_run(&self) -> Option<&Arc<Budget>> {
        self.own.first().map(|at| &self.all[*at])
    }

    /// Returns the budgets that end with their run. A run that goes on after its process died
    /// charges these again for what its log has.
    fn of_runs(&self) -> impl Iterator<Item = &Arc<Budget>> + Clone {
        self.all.iter().rev().filter(|budget| !budget.spans_runs)
    }

    /// Takes up to `wanted` calls, and returns how many there were: as many as the shortest budget
    /// has.
    pub(super) fn take_calls(&self, wanted: u64) -> u64 {
        take(self.all.iter().rev().map(|budget| &budget.calls), wanted)
    }

    /// As [`take_calls`](Self::take_calls), of calls that the log of the run may have.
    pub(super) fn take_calls_again(&self, wanted: u64) -> u64 {
        take(self.of_runs().map(|budget| &budget.calls), wanted)
    }

    /// Charges what several runs share for calls that turned out not to be in the log.
    pub(super) fn charge_shared_calls(&self, calls: u64) {
        let shared = self.all.iter().filter(|budget| budget.spans_runs);
        shared.for_each(|budget| budget.calls.charge(calls));
        self.spending.charge(Spending { calls, ..Spending::default() });
    }

    /// Takes one request, and returns `false` if there is none left.
    pub(super) fn take_request(&self) -> bool {
        take(self.all.iter().rev().map(|budget| &budget.requests), 1) == 1
    }

    /// Charges every run for what one request cost.
    pub(super) fn charge_usage(&self, usage: Usage, cost: Cost) {
        self.all.iter().for_each(|budget| budget.charge_usage(usage, cost));
        self.spending.charge_usage(usage, cost);
    }

    /// As [`charge_usage`](Self::charge_usage), of a request that the log of the run has.
    pub(super) fn charge_usage_again(&self, usage: Usage, cost: Cost) {
        self.of_runs().for_each(|budget| budget.charge_usage(usage, cost));
    }

    /// Returns what the tokens of the innermost run cost, with the runs below it.
    pub(super) fn cost(&self) -> Cost {
        self.of_run().map_or_else(Cost::default, |own| *own.cost.lock())
    }

    /// Returns the money that is left, if it is limited.
    pub(super) fn money_left(&self) -> Option<Money> {
        let limited = self.all.iter().filter(|budget| budget.limits_cost());
        let left = |budget: &Arc<Budget>| {
            let spent = budget.cost.lock().money.picos();
            Money::from_picos(budget.max_cost.picos().saturating_sub(spent))
        };
        limited.map(left).min()
    }

    /// Returns `true` if a budget that limits money was charged for tokens without a price.
    pub(super) fn has_unpriced(&self) -> bool {
        let mut limited = self.all.iter().filter(|budget| budget.limits_cost());
        limited.any(|budget| !budget.cost.lock().is_complete())
    }

    pub(super) fn is_cost_spent(&self) -> bool {
        self.all.iter().any(|budget| budget.is_cost_spent())
    }

    /// Returns what the innermost run cost, with the runs below it.
    pub(super) fn usage(&self) -> Usage {
        self.of_run().map_or_else(Usage::default, |own| *own.usage.lock())
    }

    /// Returns the calls and the tokens that are left.
    pub(super) fn left(&self) -> (u64, u64) {
        let left = |meter: fn(&Budget) -> &Meter| {
            let of = |budget: &Arc<Budget>| meter(budget).left();
            self.all.iter().map(of).min().unwrap_or(u64::MAX)
        };
        (left(|budget| &budget.calls), left(|budget| &budget.tokens))
    }

    /// Charges every run for calls that were made elsewhere.
    pub(super) fn charge_calls(&self, calls: u64) {
        self.all.iter().for_each(|budget| budget.calls.charge(calls));
        self.spending.charge(Spending { calls, ..Spending::default() });
    }

    pub(super) fn are_tokens_spent(&self) -> bool {
        self.all.iter().any(|budget| budget.tokens.left() == 0)
    }

    /// Returns what the innermost run spent.
    pub(super) fn spent(&self) -> Spent {
        self.of_run().map_or_else(Spent::default, |own| own.spent())
    }

    /// Returns what was spent since each handoff.
    pub(super) fn spent_by_handoffs(&self) -> impl Iterator<Item = Spent> {
        self.own.iter().skip(1).map(|at| self.all[*at].spent())
    }

    /// Charges the innermost run for what it spent before it paused; each run above knows its own.
    pub(super) fn resume(&self, spent: Spent, usage: Usage) {
        if let Some(own) = self.of_run() {
            *own.usage.lock() += usage;
            own.charge(spent);
        }
    }

    /// Charges the budget of the agent that has the conversation for what it spent before a pause.
    pub(super) fn resume_handoff(&self, spent: Spent) {
        if let Some(at) = self.own.last() {
            self.all[*at].charge(spent);
        }
    }
}

/// Takes up to `wanted` of each meter, and as much of each as the shortest has.
///
/// The run's own come first: what a shared one lends and gets back, another run may miss meanwhile.
fn take<'a>(meters: impl Iterator<Item = &'a Meter> + Clone, wanted: u64) -> u64 {
    let mut granted = wanted;
    let taken: Vec<u64> = meters
        .clone()
        .map(|meter| {
            granted = meter.take(granted);
            granted
        })
        .collect();
    for (meter, taken) in meters.zip(taken) {
        meter.give_back(taken - granted);
    }
    granted
}
