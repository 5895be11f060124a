use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg] limit: u32) -> u32 {
    limit
}

fn main() {}
