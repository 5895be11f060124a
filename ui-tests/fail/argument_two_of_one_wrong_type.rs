use toolbox::tool;

struct Location;

/// Finds a way.
#[tool]
fn route(from: Location, to: Location) -> bool {
    let _ = (from, to);
    true
}

fn main() {}
