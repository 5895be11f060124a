use toolbox::tool;

mod search {}

/// Searches.
#[tool]
fn search() {}

fn main() {}
