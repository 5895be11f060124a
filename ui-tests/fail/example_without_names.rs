use toolbox::tool;

/// Searches.
#[tool(example(3))]
fn search(limit: u32) -> u32 {
    limit
}

fn main() {}
