use toolbox::tool;

/// Searches.
#[tool(timeout = 5)]
fn search() {}

fn main() {}
