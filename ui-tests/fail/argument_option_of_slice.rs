use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::tool;

#[derive(Deserialize, JsonSchema)]
struct Place {
    city: String,
}

/// Visits places.
#[tool]
fn visit(places: Option<&[Place]>) {}

fn main() {}
