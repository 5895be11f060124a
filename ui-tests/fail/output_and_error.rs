use toolbox::tool;

struct Weather;
struct NoWeather;

/// Forecasts.
#[tool]
fn weather(city: &str) -> Result<Weather, NoWeather> {
    let _ = city;
    Ok(Weather)
}

fn main() {}
