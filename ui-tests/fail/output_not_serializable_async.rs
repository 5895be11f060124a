use toolbox::tool;

struct Weather;

/// Forecasts.
#[tool]
async fn weather(city: &str) -> Weather {
    let _ = city;
    Weather
}

fn main() {}
