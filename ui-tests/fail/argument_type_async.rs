use toolbox::tool;

struct Location {
    city: String,
}

/// Forecasts.
#[tool]
async fn weather(place: Location) -> String {
    place.city
}

fn main() {}
