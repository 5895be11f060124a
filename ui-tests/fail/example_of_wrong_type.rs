use toolbox::tool;

/// Searches.
#[tool(example(limit = "three"))]
fn search(limit: u32) -> u32 {
    limit
}

fn main() {}
