use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(length = 1..=50)] limit: u32) -> u32 {
    limit
}

fn main() {}
