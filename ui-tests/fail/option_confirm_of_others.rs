use toolbox::tool;

/// Searches.
#[tool(confirm)]
fn search() {}

fn main() {}
