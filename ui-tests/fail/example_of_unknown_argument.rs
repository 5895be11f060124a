use toolbox::tool;

/// Searches.
#[tool(example(limmit = 3))]
fn search(limit: u32) -> u32 {
    limit
}

fn main() {}
