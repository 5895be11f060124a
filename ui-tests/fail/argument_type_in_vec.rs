use toolbox::tool;

struct Location;

/// Forecasts.
#[tool]
fn weather(places: Vec<Location>) -> usize {
    places.len()
}

fn main() {}
