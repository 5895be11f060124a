use toolbox::tool;

struct Weather;

/// Forecasts.
#[tool]
async fn weather(city: &str) -> Result<Weather, String> {
    let _ = city;
    Ok(Weather)
}

fn main() {}
