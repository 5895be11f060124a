use toolbox::tool;

/// Searches.
#[tool(param(name = "a"))]
fn search() {}

fn main() {}
