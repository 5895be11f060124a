use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(range = 50..=1)] limit: u32) -> u32 {
    limit
}

fn main() {}
