use toolbox::tool;

/// Searches.
#[tool]
fn search(_: u32) {}

fn main() {}
