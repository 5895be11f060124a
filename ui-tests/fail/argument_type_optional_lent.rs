use toolbox::tool;

struct Location;

/// Forecasts.
#[tool]
fn weather(place: Option<&Location>) -> bool {
    place.is_some()
}

fn main() {}
