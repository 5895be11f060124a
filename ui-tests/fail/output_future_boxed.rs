use toolbox::tool;

use std::pin::Pin;

/// Forecasts.
#[tool]
fn weather(city: String) -> Pin<Box<dyn Future<Output = String> + Send>> {
    Box::pin(async move { city })
}

fn main() {}
