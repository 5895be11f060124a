use toolbox::tool;

/// Forecasts.
#[tool]
fn weather(city: String) -> impl core::future::Future<Output = String> + Send + use<> {
    async move { city }
}

fn main() {}
