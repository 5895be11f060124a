//! A table of prices that the program writes.

use std::fmt;

use super::{Money, Prices};
use crate::context::rules::NameRule;
use crate::model::Usage;

/// The price of a million tokens of one model, by kind.
///
/// ```
/// use toolbox::cost::{Money, Price};
/// use toolbox::model::Usage;
///
/// let price = Price::per_million(Money::from_dollars(3), Money::from_dollars(15))
///     .cache_read(Money::from_cents(30))
///     .cache_write(Money::from_cents(375));
/// let mut usage = Usage::new(1_000_000, 0);
/// usage.cache_read_input_tokens = 1_000_000;
/// assert_eq!(price.of(&usage), Money::from_cents(30));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    input: Money,
    output: Money,
    cache_read: Money,
    cache_write: Money,
    reasoning: Money,
}

impl Price {
    /// Returns a price of tokens read and written. Tokens from a cache and to one cost as much as
    /// others that are read, and those of reasoning as much as others that are written, unless they
    /// have a price of their own.
    #[must_use]
    pub const fn per_million(input: Money, output: Money) -> Self {
        Self { input, output, cache_read: input, cache_write: input, reasoning: output }
    }

    /// Sets the price of a million tokens that are read from a cache.
    #[must_use]
    pub const fn cache_read(mut self, price: Money) -> Self {
        self.cache_read = price;
        self
    }

    /// Sets the price of a million tokens that are written to a cache.
    #[must_use]
    pub const fn cache_write(mut self, price: Money) -> Self {
        self.cache_write = price;
        self
    }

    /// Sets the price of a million tokens of reasoning.
    #[must_use]
    pub const fn reasoning(mut self, price: Money) -> Self {
        self.reasoning = price;
        self
    }

    /// Returns what tokens cost, rounded up to 10⁻¹² dollars.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Money {
        let cached =
            usage.cache_read_input_tokens.saturating_add(usage.cache_creation_input_tokens);
        let kinds = [
            (self.input, usage.input_tokens.saturating_sub(cached)),
            (self.cache_read, usage.cache_read_input_tokens),
            (self.cache_write, usage.cache_creation_input_tokens),
            (self.output, usage.output_tokens.saturating_sub(usage.reasoning_tokens)),
            (self.reasoning, usage.reasoning_tokens),
        ];
        let parts = kinds.map(|(price, tokens)| u128::from(price.picos()) * u128::from(tokens));
        let sum = parts.into_iter().fold(0_u128, u128::saturating_add).div_ceil(1_000_000);
        Money::from_picos(u64::try_from(sum).unwrap_or(u64::MAX))
    }
}

/// Prices by provider and model, as the program writes them.
///
/// ```
/// use toolbox::cost::{Money, Price, PriceTable};
///
/// let small = Price::per_million(Money::from_cents(25), Money::from_cents(200));
/// let large = Price::per_million(Money::from_cents(125), Money::from_cents(1000));
/// let prices = PriceTable::new()
///     .model("openai", "gpt-5-mini*", small)
///     .model("openai", "gpt-5*", large)
///     .default_price(large); // any other model
/// ```
#[derive(Clone, Default)]
pub struct PriceTable {
    entries: Vec<(NameRule, NameRule, Price)>,
    default: Option<Price>,
}

impl PriceTable {
    /// Returns a table without prices.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the price of models. Both names may hold `*` for any run of characters, and ignore
    /// ASCII case; the first entry that fits counts. The provider is the one that
    /// [`Model::provider`](crate::model::Model::provider) returns, such as `openai`.
    #[must_use]
    pub fn model(
        mut self,
        provider: impl AsRef<str>,
        model: impl AsRef<str>,
        price: Price,
    ) -> Self {
        let (provider, model) = (provider.as_ref(), model.as_ref());
        self.entries.push((NameRule::new(provider), NameRule::new(model), price));
        self
    }

    /// Sets the price of models that no entry fits. Default: they have no price.
    #[must_use]
    pub fn default_price(mut self, price: Price) -> Self {
        self.default = Some(price);
        self
    }
}

impl Prices for PriceTable {
    fn price(&self, provider: &str, model: &str, usage: &Usage) -> Option<Money> {
        let fits = |(of, name, _): &&(NameRule, NameRule, Price)| {
            of.matches(provider) && name.matches(model)
        };
        let entry = self.entries.iter().find(fits).map(|(.., price)| price);
        entry.or(self.default.as_ref()).map(|price| price.of(usage))
    }
}

impl fmt::Debug for PriceTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PriceTable").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}
