//! The limits of a run for agents in another process.

use super::budget::{Budget, UNLIMITED};
use super::run_scope::RunScope;
use crate::context::{CarriedRun, CarriedSpending, ToolContext};
use crate::cost::{Cost, Money};
use crate::event::charged;
use crate::model::Usage;

/// The budget of agents that work for a run of another process.
pub(crate) struct RemoteRun(RunScope);

impl RemoteRun {
    /// Returns the limits of the run that makes a call, if one does.
    pub(crate) fn limits(context: &ToolContext) -> Option<CarriedRun> {
        let scope = context.get::<RunScope>()?;
        let (calls, tokens) = scope.budgets.left();
        let money = scope.budgets.money_left().map(Money::picos);
        Some(CarriedRun { calls, tokens, max_depth: scope.max_depth, money })
    }

    /// Puts the limits of a run elsewhere into a context.
    pub(crate) fn below(limits: CarriedRun, context: ToolContext) -> (ToolContext, Self) {
        let above = RunScope::default();
        let money = limits.money.map_or(UNLIMITED, Money::from_picos);
        let budgets = above.budgets.with(Budget::new(limits.calls, limits.tokens, money), &[]);
        let scope = RunScope { budgets, max_depth: limits.max_depth, ..above };
        (context.with(scope.clone()), Self(scope))
    }

    /// Returns what was spent since.
    pub(crate) fn spent(&self) -> Option<CarriedSpending> {
        let (usage, cost) = (self.0.budgets.usage(), self.0.budgets.cost());
        let spent = CarriedSpending {
            calls: self.0.budgets.spent().calls,
            tokens: [
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_input_tokens,
                usage.cache_creation_input_tokens,
                usage.reasoning_tokens,
            ],
            cost: (cost.money.picos(), cost.unpriced_tokens),
        };
        (spent != CarriedSpending::default()).then_some(spent)
    }

    /// Charges the run that made a call for what was spent elsewhere.
    pub(crate) fn charge(context: &ToolContext, spent: CarriedSpending) {
        let Some(scope) = context.get::<RunScope>() else { return };
        let [input, output, read, created, reasoning] = spent.tokens;
        let usage = Usage {
            cache_read_input_tokens: read,
            cache_creation_input_tokens: created,
            reasoning_tokens: reasoning,
            ..Usage::new(input, output)
        };
        scope.budgets.charge_calls(spent.calls);
        let mut cost = Cost::new(Money::from_picos(spent.cost.0));
        cost.unpriced_tokens = spent.cost.1;
        scope.budgets.charge_usage(usage, cost);
        charged(context, usage, cost);
    }
}
