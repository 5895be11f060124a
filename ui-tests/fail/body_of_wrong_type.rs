use toolbox::tool;

/// Searches.
#[tool]
fn search(query: &str) -> u32 {
    query.len()
}

fn main() {}
