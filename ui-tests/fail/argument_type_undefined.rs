use toolbox::tool;

/// Forecasts.
#[tool]
fn weather(place: Location) -> bool {
    let _ = place;
    true
}

fn main() {}
