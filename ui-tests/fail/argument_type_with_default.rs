use toolbox::tool;

#[derive(Default)]
struct Location;

/// Forecasts.
#[tool]
fn weather(#[arg(default)] place: Location) -> bool {
    let _ = place;
    true
}

fn main() {}
