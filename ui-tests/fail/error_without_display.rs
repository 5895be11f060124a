use toolbox::tool;

struct NoWeather;

/// Forecasts.
#[tool]
fn weather(city: &str) -> Result<String, NoWeather> {
    let _ = city;
    Err(NoWeather)
}

fn main() {}
