use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(flatten = true)] limit: u32) -> u32 {
    limit
}

fn main() {}
