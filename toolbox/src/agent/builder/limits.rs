//! What a run may take: steps, calls, tokens, money, time, agents.

use std::sync::Arc;
use std::time::Duration;

use super::AgentBuilder;
use crate::agent::settings::MaxIterations;
use crate::cost::{Money, Prices};

impl AgentBuilder {
    /// Limits how often the model is asked in one run. Default 20. Zero counts as one.
    pub fn max_iterations(mut self, iterations: u32) -> Self {
        self.settings.max_iterations = iterations.max(1);
        self
    }

    /// Sets the handling of a run that reaches that limit. Default [`MaxIterations::Stop`].
    pub fn at_max_iterations(mut self, policy: MaxIterations) -> Self {
        self.settings.at_max_iterations = policy;
        self
    }

    /// Limits how often the model may give an answer in runs that ask for [one of a
    /// type](crate::agent::Run::answering_with): the last that does not fit ends the run.
    /// Default 3. Zero counts as one.
    pub fn max_answer_attempts(mut self, attempts: u32) -> Self {
        self.settings.max_answer_attempts = attempts.max(1);
        self
    }

    /// Limits how many calls one reply may make; the rest are refused. Default 64.
    pub fn max_calls_per_step(mut self, calls: usize) -> Self {
        self.settings.max_calls_per_step = calls;
        self
    }

    /// Sets the tokens of results that are passed on whole, for the calls of this agent and those
    /// of agents below it, in place of the limits of tools and boxes. Default: those limits.
    ///
    /// It counts where results are kept ([`keep_results`](crate::ToolBoxBuilder::keep_results)); a
    /// hook may set another for one step
    /// ([`set_max_result_tokens`](crate::agent::StepRequest::set_max_result_tokens)).
    pub fn max_result_tokens(mut self, tokens: usize) -> Self {
        self.settings.max_result_tokens = Some(tokens);
        self
    }

    /// Limits how many calls a run may make, together with the agents below it. Default 1 000.
    pub fn max_total_calls(mut self, calls: u64) -> Self {
        self.settings.max_total_calls = calls;
        self
    }

    /// Limits how many tokens a run may read and write, together with the agents below it. Default:
    /// no limit.
    ///
    /// Checked after each reply, so the last one may go beyond it.
    pub fn max_total_tokens(mut self, tokens: u64) -> Self {
        self.settings.max_total_tokens = tokens;
        self
    }

    /// Limits the money that a run may cost, together with the agents below it. Default: no limit.
    ///
    /// Checked after each reply, so the last one may go beyond it; the run then stops with
    /// [`StopReason::Cost`](crate::agent::StopReason::Cost). Needs [`prices`](Self::prices): a
    /// model without a price is an error of [`build`](Self::build), and of an agent below the
    /// failure of its call. Requests of a [`Compactor`](crate::agent::Compactor) count as the
    /// agent's model, unless its summary names another.
    pub fn max_cost(mut self, cost: Money) -> Self {
        self.settings.max_cost = cost;
        self
    }

    /// Sets the prices by which the [cost](crate::agent::RunOutcome::cost) of runs is counted.
    /// Default: those of the agent above; with none, all tokens are without a price.
    ///
    /// ```
    /// use toolbox::agent::{Agent, StopReason};
    /// use toolbox::cost::{Money, Price, PriceTable};
    /// use toolbox::testing::ScriptedModel;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let price = Price::per_million(Money::from_dollars(3), Money::from_dollars(15));
    /// let agent = Agent::builder(ScriptedModel::answering("Hello."))
    ///     .prices(PriceTable::new().default_price(price))
    ///     .max_cost(Money::from_cents(50))
    ///     .build()?;
    /// let outcome = agent.run("Hi").await?;
    /// assert!(outcome.cost.is_complete());
    /// # Ok(())
    /// # }
    /// ```
    pub fn prices(mut self, prices: impl Prices) -> Self {
        self.settings.prices = Some(Arc::new(prices));
        self
    }

    /// Limits how many agents may be at work above one another, this one among them. Default 8, at
    /// most 16: each works on the stack of the one above.
    ///
    /// Holds for the agents below it too, whatever their own limit is.
    pub fn max_depth(mut self, agents: u32) -> Self {
        self.settings.max_depth = agents.min(16);
        self
    }

    /// Lets the agent be called from below itself, down to the depth limit. Default: refused.
    pub fn allow_recursion(mut self) -> Self {
        self.settings.recursion = true;
        self
    }

    /// Sets how often a call may be made, of one tool with equal arguments and the same result: the
    /// last of these times it is not run, and the model is told instead. If it makes that call
    /// again, the run stops with [`StopReason::Repeated`](crate::agent::StopReason::Repeated).
    /// Default 4; at least 2.
    ///
    /// A call counts while it is made step after step, and while all calls of the steps since have
    /// been made before, as where two alternate. Order of keys and spaces are no difference. A tool
    /// that is called to wait for something says so with [`Tool::polling`](crate::Tool::polling).
    ///
    /// Replies that are cut off by the limit of tokens before their calls are complete, or whose
    /// calls the service could not read, count as well: a run of as many of them ends, with
    /// [`StopReason::Length`](crate::agent::StopReason::Length) or
    /// [`StopReason::NoAnswer`](crate::agent::StopReason::NoAnswer).
    pub fn repeat_limit(mut self, times: u32) -> Self {
        self.settings.repeat_limit = Some(times.max(2));
        self
    }

    /// Lets the model make the same call as often as it likes.
    pub fn no_repeat_limit(mut self) -> Self {
        self.settings.repeat_limit = None;
        self
    }

    /// Limits the time of one run. Default: no limit.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }
}
