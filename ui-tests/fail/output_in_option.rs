use toolbox::tool;

struct Weather;

/// Forecasts.
#[tool]
fn weather(city: &str) -> Option<Weather> {
    let _ = city;
    None
}

fn main() {}
