use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(range = 1..=MOST)] limit: u32) -> u32 {
    limit
}

fn main() {}
