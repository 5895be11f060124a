use toolbox::tool;

struct Weather;

/// Forecasts.
#[tool]
fn weather(city: &str) -> Weather {
    let _ = city;
    Weather
}

fn main() {}
