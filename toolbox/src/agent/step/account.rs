//! The account of a run: what it may spend, and what it has spent.

use std::sync::Arc;

use super::end::End;
use super::legs::Leg;
use crate::agent::budget::{Budget, Budgets, SharedBudget};
use crate::agent::outcome::RunErrorKind;
use crate::agent::paused::Paused;
use crate::agent::settings::AgentSettings;
use crate::agent::spending::{SpendingKind, SpendingLimit};
use crate::call::SharedError;
use crate::context::ToolContext;
use crate::cost::{Cost, Money, Prices, price_of};
use crate::event::{EventKind, StopReason};
use crate::model::{Model, Usage};

/// The requests, calls, tokens and money of a run: how many it has spent, and how many are left.
pub(super) struct RunAccount {
    pub(super) budgets: Budgets,
    /// `true` if calls were refused because the run may make no more.
    over_budget: bool,
    /// The number of requests to the model.
    pub(super) iterations: u32,
    /// The limit of a day or a month that was reached.
    pub(super) limit: Option<SpendingLimit>,
    /// The prices of the agent, or of one above it.
    pub(super) prices: Option<Arc<dyn Prices>>,
}

impl RunAccount {
    /// Opens the account of a run below the one that has `above`.
    pub(super) fn new(above: &Budgets, settings: &AgentSettings, shared: &[SharedBudget]) -> Self {
        let budgets = above.with(budget_of(settings), shared);
        Self { budgets, over_budget: false, iterations: 0, limit: None, prices: None }
    }

    /// Adds the budget of an agent that the conversation is handed to.
    pub(super) fn hand_over(&mut self, settings: &AgentSettings, context: &ToolContext) {
        self.budgets = self.budgets.and(budget_of(settings), &settings.shared_budgets);
        self.budgets.spending = self.budgets.spending.with(&settings.spending, context);
    }

    /// Goes on from the state at a pause.
    pub(super) fn resume(&mut self, paused: &Paused) {
        self.iterations = paused.iterations;
        self.budgets.resume(paused.spent, paused.usage);
    }

    /// Returns the number of requests of the agent that has the conversation.
    pub(super) fn steps(&self, leg: &Leg) -> u32 {
        self.iterations.saturating_sub(leg.handed.began_at())
    }

    /// Returns the reason for which the run may not ask the model again.
    pub(super) fn exceeded(&self) -> Option<StopReason> {
        if self.budgets.is_cost_spent() {
            return Some(StopReason::Cost);
        }
        let spent = self.over_budget || self.budgets.are_tokens_spent();
        spent.then_some(StopReason::Budget)
    }

    /// Takes up to `wanted` calls, and returns how many there were. Calls that are made `again` may
    /// be in the log: what it has was charged to budgets that outlive the run when it was made.
    ///
    /// # Errors
    ///
    /// The end of the run, if the journal of its limits cannot be written.
    pub(super) async fn take_calls(&mut self, wanted: usize, again: bool) -> Result<usize, End> {
        let granted = if again {
            self.budgets.take_calls_again(wanted as u64)
        } else {
            let granted = self.budgets.take_calls(wanted as u64);
            let spending = self.budgets.spending.take_calls(granted).await;
            let (granted, limit) = spending.map_err(unwritten)?;
            self.limit = self.limit.or(limit);
            granted
        };
        let granted = usize::try_from(granted).unwrap_or(wanted);
        self.over_budget |= granted < wanted;
        Ok(granted)
    }

    /// Takes one request, or returns the end of a run that may send no more.
    pub(super) async fn take_request(&mut self) -> Result<(), End> {
        if !self.budgets.take_request() {
            return Err(End::stopped(StopReason::Budget));
        }
        self.limit = self.budgets.spending.take_request().await.map_err(unwritten)?;
        match self.limit {
            Some(limit) if limit.kind == SpendingKind::Cost => Err(End::stopped(StopReason::Cost)),
            Some(_) => Err(End::stopped(StopReason::Budget)),
            None => Ok(()),
        }
    }

    /// Waits until what was spent is where it outlives the process.
    pub(super) async fn written(&self) -> Result<(), End> {
        self.budgets.spending.written().await.map_err(unwritten)
    }

    /// Returns the price of tokens, if there is one, and what they cost. `answered` is the model as
    /// its service names it, which is asked for first.
    pub(super) fn cost_of(
        &self,
        model: &dyn Model,
        answered: Option<&str>,
        usage: &Usage,
    ) -> (Option<Money>, Cost) {
        let prices = self.prices.as_deref();
        if model.is_program() {
            return (Some(Money::ZERO), Cost::new(Money::ZERO));
        }
        let mut names = answered.into_iter().chain([model.name()]);
        let price = names.find_map(|name| price_of(prices?, model.provider(), name, usage));
        (price, price.map_or_else(|| Cost::unpriced(usage), Cost::new))
    }

    /// Charges the run for tokens beside those of its replies, of a model by the names of its
    /// service and its own, else of the agent's. Returns what they cost.
    pub(super) fn charge(&self, leg: &Leg, model: Option<(&str, &str)>, usage: Usage) -> Cost {
        let own = (leg.model().provider(), leg.model().name());
        let (provider, name) = model.unwrap_or(own);
        let prices = self.prices.as_deref();
        let price = prices.and_then(|prices| price_of(prices, provider, name, &usage));
        let cost = price.map_or_else(|| Cost::unpriced(&usage), Cost::new);
        self.budgets.charge_usage(usage, cost);
        leg.events.emit(|| EventKind::Charged {
            model: name.to_owned(),
            provider: provider.to_owned(),
            usage,
            cost,
        });
        cost
    }

    /// Checks that what the next request costs can be known, where money is limited.
    pub(super) fn check_price(&self, model: &dyn Model) -> Result<(), End> {
        let budgets = &self.budgets;
        let is_known = || self.cost_of(model, None, &Usage::default()).0.is_some();
        let is_limited = budgets.money_left().is_some() || budgets.spending.limits_cost();
        if !is_limited || (is_known() && !budgets.has_unpriced()) {
            return Ok(());
        }
        let (provider, model) = (model.provider().to_owned(), model.name().to_owned());
        Err(End::Failed(RunErrorKind::NoPrice { provider, model }))
    }
}

fn unwritten(error: SharedError) -> End {
    End::Failed(RunErrorKind::Journal(error))
}

fn budget_of(settings: &AgentSettings) -> Budget {
    Budget::new(settings.max_total_calls, settings.max_total_tokens, settings.max_cost)
}
