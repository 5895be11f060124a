use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(range = "a"..)] limit: u32) -> u32 {
    limit
}

fn main() {}
