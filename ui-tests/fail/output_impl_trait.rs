use toolbox::tool;

/// Forecasts.
#[tool]
fn weather(city: &str) -> impl Iterator<Item = char> {
    city.chars()
}

fn main() {}
