use toolbox::tool;

/// Searches.
#[tool(timeout = std::time::Duration::from_secs(5))]
fn search() {}

fn main() {}
