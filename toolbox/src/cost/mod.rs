//! Prices of tokens, and what requests to models cost.
//!
//! Money is counted in whole units of 10⁻¹² US dollars, so sums are exact. An agent with
//! [`Prices`] (`AgentBuilder::prices`) knows what its runs cost; `AgentBuilder::max_cost` ends
//! them. Tokens without a price are never counted as free: a [`Cost`] says how many tokens have
//! none.
//!
//! ```
//! use toolbox::cost::{Money, Price, PriceTable, Prices};
//! use toolbox::model::Usage;
//!
//! // 1.25 dollars for a million tokens read, 10 for a million written.
//! let price = Price::per_million(Money::from_cents(125), Money::from_cents(1000))
//!     .cache_read(Money::from_micros(125_000));
//! let prices = PriceTable::new().model("openai", "gpt-5*", price);
//!
//! let cost = prices.price("openai", "gpt-5-2025-08-07", &Usage::new(1_000, 100));
//! assert_eq!(cost.unwrap().to_string(), "0.00225");
//! assert_eq!(prices.price("openai", "another", &Usage::new(1_000, 100)), None);
//! ```

mod money;
mod table;

pub use money::{Money, ParseMoneyError};
pub use table::{Price, PriceTable};

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::Usage;
use crate::panics::forget_quietly;

/// The prices of models.
///
/// ```
/// use toolbox::cost::{Money, Prices};
/// use toolbox::model::Usage;
///
/// let flat = |_provider: &str, _model: &str, _usage: &Usage| Some(Money::from_cents(1));
/// assert_eq!(flat.price("openai", "gpt-5", &Usage::new(10, 1)), Some(Money::from_cents(1)));
/// ```
///
/// A [`PriceTable`] is one that the program writes; with the feature `prices`,
/// `toolbox::prices::GenaiPrices` is one that comes with the crate `genai-prices`. A function of
/// three arguments is one too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` knows no prices of models",
    label = "these are no prices",
    note = "write a `toolbox::cost::PriceTable`, or give a function: `|provider: &str, model: &str, usage: &Usage| Some(money)`"
)]
pub trait Prices: Send + Sync + 'static {
    /// Returns what the tokens of one request cost; `None` for a model without a price.
    ///
    /// It is asked for no tokens, too, to know whether the model has a price.
    fn price(&self, provider: &str, model: &str, usage: &Usage) -> Option<Money>;
}

#[diagnostic::do_not_recommend]
impl<F> Prices for F
where
    F: Fn(&str, &str, &Usage) -> Option<Money> + Send + Sync + 'static,
{
    fn price(&self, provider: &str, model: &str, usage: &Usage) -> Option<Money> {
        self(provider, model, usage)
    }
}

#[diagnostic::do_not_recommend]
impl<P: Prices + ?Sized> Prices for Arc<P> {
    fn price(&self, provider: &str, model: &str, usage: &Usage) -> Option<Money> {
        (**self).price(provider, model, usage)
    }
}

/// The cost of requests to models, as far as there is a price.
///
/// ```
/// use toolbox::cost::{Cost, Money};
/// use toolbox::model::Usage;
///
/// let mut cost = Cost::new(Money::from_cents(1));
/// cost += Cost::unpriced(&Usage::new(90, 10));
/// assert!(!cost.is_complete());
/// assert_eq!(cost.to_string(), "0.01 USD, and 100 tokens without a price");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Cost {
    /// The money for the tokens that have a price.
    pub money: Money,
    /// The number of tokens without a price, read and written.
    pub unpriced_tokens: u64,
}

impl Cost {
    /// Returns the cost of tokens that have a price.
    #[must_use]
    pub fn new(money: Money) -> Self {
        Self { money, unpriced_tokens: 0 }
    }

    /// Returns the cost of tokens without a price.
    #[must_use]
    pub fn unpriced(usage: &Usage) -> Self {
        Self { money: Money::ZERO, unpriced_tokens: usage.total_tokens() }
    }

    /// Returns `true` if every token has a price.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unpriced_tokens == 0
    }

    pub(crate) fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.money += other.money;
        self.unpriced_tokens = self.unpriced_tokens.saturating_add(other.unpriced_tokens);
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} USD", self.money)?;
        match self.unpriced_tokens {
            0 => Ok(()),
            tokens => write!(f, ", and {tokens} tokens without a price"),
        }
    }
}

/// Returns the price of tokens; none where the program's own code panics.
pub(crate) fn price_of(
    prices: &dyn Prices,
    provider: &str,
    model: &str,
    usage: &Usage,
) -> Option<Money> {
    catch_unwind(AssertUnwindSafe(|| prices.price(provider, model, usage))).unwrap_or_else(
        |payload| {
            tracing::error!(model, "the prices panicked");
            forget_quietly(payload);
            None
        },
    )
}
