use toolbox::tool;

use std::collections::HashMap;

struct Weather;

/// Forecasts.
#[tool]
fn weather(city: String) -> HashMap<String, Weather> {
    HashMap::from([(city, Weather)])
}

fn main() {}
