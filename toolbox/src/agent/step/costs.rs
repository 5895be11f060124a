//! The cost of the requests of a run.

use super::{ActiveRun, End};
use crate::agent::outcome::RunErrorKind;
use crate::cost::{Cost, Money, price_of};
use crate::event::EventKind;
use crate::model::Usage;

impl ActiveRun {
    /// Returns the price of tokens, if there is one, and what they cost. `answered` is the model as
    /// its service names it, which is asked for first.
    pub(super) fn cost_of(&self, answered: Option<&str>, usage: &Usage) -> (Option<Money>, Cost) {
        let model = &self.agent.model;
        let prices = self.prices.as_deref();
        let mut names = answered.into_iter().chain([model.name()]);
        let price = names.find_map(|name| price_of(prices?, model.provider(), name, usage));
        (price, price.map_or_else(|| Cost::unpriced(usage), Cost::new))
    }

    /// Charges the run for tokens beside those of its replies, of a model by the names of its
    /// service and its own, else of the agent's. Returns what they cost.
    pub(super) fn charge(&self, model: Option<(&str, &str)>, usage: Usage) -> Cost {
        let own = (self.agent.model.provider(), self.agent.model.name());
        let (provider, name) = model.unwrap_or(own);
        let prices = self.prices.as_deref();
        let price = prices.and_then(|prices| price_of(prices, provider, name, &usage));
        let cost = price.map_or_else(|| Cost::unpriced(&usage), Cost::new);
        self.limits.budgets.charge_usage(usage, cost);
        self.events.emit(|| EventKind::Charged {
            model: name.to_owned(),
            provider: provider.to_owned(),
            usage,
            cost,
        });
        cost
    }

    /// Checks that what the next request costs can be known, where money is limited.
    pub(super) fn check_price(&self) -> Result<(), End> {
        let budgets = &self.limits.budgets;
        let is_known = || self.cost_of(None, &Usage::default()).0.is_some();
        if budgets.money_left().is_none() || (is_known() && !budgets.has_unpriced()) {
            return Ok(());
        }
        let model = &self.agent.model;
        let (provider, model) = (model.provider().to_owned(), model.name().to_owned());
        Err(End::Failed(RunErrorKind::NoPrice { provider, model }))
    }
}
