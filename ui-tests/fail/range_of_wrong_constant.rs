use toolbox::tool;

const FIRST: Option<u32> = None;

/// Searches.
#[tool]
fn search(#[arg(range = FIRST..)] limit: u32) -> u32 {
    limit
}

fn main() {}
