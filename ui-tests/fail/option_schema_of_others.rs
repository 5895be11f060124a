use toolbox::tool;

/// Searches.
#[tool(schema = "x")]
fn search() {}

fn main() {}
