use toolbox::tool;

use std::result::Result as Answer;

struct NoWeather;

/// Forecasts.
#[tool]
fn weather(city: String) -> Answer<String, NoWeather> {
    Ok(city)
}

fn main() {}
