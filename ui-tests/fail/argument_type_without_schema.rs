use toolbox::tool;

#[derive(serde::Deserialize)]
struct Location {
    city: String,
}

/// Forecasts.
#[tool]
fn weather(place: Location) -> String {
    place.city
}

fn main() {}
