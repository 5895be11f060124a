use toolbox::tool;

struct NoWeather;

type Answer<T> = Result<T, NoWeather>;

/// Forecasts.
#[tool]
fn weather(city: String) -> Answer<String> {
    Ok(city)
}

fn main() {}
