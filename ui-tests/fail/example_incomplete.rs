use toolbox::tool;

/// Searches.
#[tool(example(limit = 3))]
fn search(query: &str, limit: u32) -> String {
    query.repeat(limit as usize)
}

fn main() {}
