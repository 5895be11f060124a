use toolbox::tool;

/// Searches.
#[tool(strict)]
fn search() {}

fn main() {}
