use toolbox::tool;

/// Searches.
#[tool(timeout_ms = 500)]
fn search() {}

fn main() {}
