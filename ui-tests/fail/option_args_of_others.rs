use toolbox::tool;

/// Searches.
#[tool(args(a = "b"))]
fn search() {}

fn main() {}
