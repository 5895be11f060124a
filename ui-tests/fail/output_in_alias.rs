use toolbox::tool;

struct Weather;

type Answer<E> = Result<Weather, E>;

/// Forecasts.
#[tool]
fn weather(city: String) -> Answer<String> {
    Err(city)
}

fn main() {}
