//! The prices of models that come with the crate
//! [`genai-prices`](https://github.com/pydantic/genai-prices): those of its version, for standard
//! requests.

use genai_prices::{Calculator, PriceRequest, UsageKey};

use crate::cost::{Money, Prices};
use crate::model::Usage;

/// The prices of the crate `genai-prices`, by the rates that hold now.
///
/// They are those of the standard service: batches and priority tiers have others. Its data is read
/// on first use, which takes some milliseconds. A model that it does not know has no price, and so
/// has any model of a provider that it does not know, such as `custom`.
///
/// ```
/// use toolbox::cost::{Money, Price, PriceTable, Prices};
/// use toolbox::model::Usage;
/// use toolbox::prices::GenaiPrices;
///
/// assert!(GenaiPrices.price("anthropic", "claude-sonnet-4-5", &Usage::new(1_000, 10)).is_some());
///
/// // With prices of one's own before them.
/// let free = Price::per_million(Money::ZERO, Money::ZERO);
/// let own = PriceTable::new().model("custom", "llama", free);
/// let prices = move |provider: &str, model: &str, usage: &Usage| {
///     own.price(provider, model, usage).or_else(|| GenaiPrices.price(provider, model, usage))
/// };
/// assert_eq!(prices.price("custom", "llama", &Usage::new(1_000, 10)), Some(Money::ZERO));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct GenaiPrices;

impl Prices for GenaiPrices {
    fn price(&self, provider: &str, model: &str, usage: &Usage) -> Option<Money> {
        let provider = match provider {
            "gcp.gemini" | "gcp.gen_ai" | "gcp.vertex_ai" => "google",
            "mistral_ai" => "mistral",
            "x_ai" => "x-ai",
            "moonshot_ai" => "moonshotai",
            "aws.bedrock" => "aws",
            "azure.ai.openai" | "azure.ai.inference" => "azure",
            other => other,
        };
        let (read, written) = (usage.cache_read_input_tokens, usage.cache_creation_input_tokens);
        let input = usage.input_tokens.max(read.saturating_add(written));
        let counts = [
            (UsageKey::INPUT_TOKENS, input),
            (UsageKey::CACHE_READ_TOKENS, read),
            (UsageKey::CACHE_WRITE_TOKENS, written),
            (UsageKey::OUTPUT_TOKENS, usage.output_tokens),
        ];
        #[allow(clippy::cast_precision_loss, reason = "no request has 2⁵³ tokens")]
        let counts = counts.map(|(key, tokens)| (key, tokens as f64));
        let counts = genai_prices::Usage::from(counts);
        let request = PriceRequest::new(model, &counts).with_provider_id(provider);
        let price = Calculator::bundled().calculate(&request).ok()?;
        // The provider is found by the name of the model if its own is unknown.
        let is_known = price.provider_id == provider && price.warnings.is_empty();
        money(price.total_price).filter(|_| is_known)
    }
}

/// Returns an amount of dollars, rounded to the nearest 10⁻¹².
fn money(dollars: f64) -> Option<Money> {
    let picos = (dollars * 1e12).round();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the range is checked"
    )]
    (picos >= 0.0 && picos < u64::MAX as f64).then(|| Money::from_picos(picos as u64))
}
