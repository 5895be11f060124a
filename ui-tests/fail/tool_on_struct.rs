use toolbox::tool;

/// Searches.
#[tool]
struct Search;

fn main() {}
