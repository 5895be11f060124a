use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(pattern = "^[0-9]+$")] limit: u32) -> u32 {
    limit
}

fn main() {}
