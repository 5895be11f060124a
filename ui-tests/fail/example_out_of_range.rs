use toolbox::tool;

/// Searches.
#[tool(example(query = "rust", limit = 60))]
fn search(query: &str, #[arg(range = 1..=50)] limit: usize) -> String {
    query.repeat(limit)
}

fn main() {}
