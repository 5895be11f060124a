use toolbox::tool;

type Soon<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send>>;

/// Forecasts.
#[tool]
async fn weather(city: String) -> Result<Soon<String>, String> {
    Ok(Box::pin(async move { city }))
}

fn main() {}
