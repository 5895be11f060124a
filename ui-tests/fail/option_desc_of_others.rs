use toolbox::tool;

/// Searches.
#[tool(desc = "Searches")]
fn search() {}

fn main() {}
