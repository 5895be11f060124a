use toolbox::tool;

const NAME: &str = "search the docs";

/// Searches.
#[tool(name = NAME)]
fn search() {}

fn main() {}
