use toolbox::tool;

#[derive(schemars::JsonSchema)]
struct Location {
    city: String,
}

/// Forecasts.
#[tool]
fn weather(place: Location) -> String {
    place.city
}

fn main() {}
