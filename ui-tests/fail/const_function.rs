use toolbox::tool;

/// Searches.
#[tool]
const fn search(limit: u32) -> u32 {
    limit
}

fn main() {}
