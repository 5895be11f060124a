use toolbox::tool;

#[derive(Debug)]
struct NoWeather;

/// Forecasts.
#[tool]
async fn weather(city: &str) -> Result<String, NoWeather> {
    let _ = city;
    Err(NoWeather)
}

fn main() {}
