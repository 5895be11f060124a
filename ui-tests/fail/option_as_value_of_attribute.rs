use toolbox::tool;

/// Searches.
#[tool = "search_docs"]
fn search() {}

fn main() {}
