use toolbox::tool;

/// Searches.
#[tool]
fn search(#[cfg_attr(all(), arg(range = 1..=50))] limit: u32) {}

fn main() {}
