use toolbox::tool;

struct Location;

/// Forecasts.
#[tool]
fn weather(places: &[Location]) -> usize {
    places.len()
}

fn main() {}
