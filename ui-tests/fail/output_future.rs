use toolbox::tool;

/// Forecasts.
#[tool]
fn weather(city: String) -> impl Future<Output = String> {
    async move { city }
}

fn main() {}
