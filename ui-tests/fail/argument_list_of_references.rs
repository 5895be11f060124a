use toolbox::tool;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    name: String,
}

/// Counts places.
#[tool]
fn count(places: Vec<&Place>) -> usize {
    places.iter().map(|place| place.name.len()).sum()
}

fn main() {}
