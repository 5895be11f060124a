use toolbox::tool;

struct Location {
    city: String,
}

/// Forecasts.
#[tool]
fn weather(place: &Location) -> String {
    place.city.clone()
}

fn main() {}
