use toolbox::tool;

/// Searches.
#[tool(example(limit = 3, limit = 4))]
fn search(limit: u32) -> u32 {
    limit
}

fn main() {}
