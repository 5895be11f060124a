use toolbox::tool;

struct Weather;

/// Forecasts.
#[tool]
fn weather(city: &str) -> Vec<Weather> {
    let _ = city;
    Vec::new()
}

fn main() {}
