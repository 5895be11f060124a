use toolbox::tool;

/// Searches.
#[tool]
fn search(query) {}

fn main() {}
