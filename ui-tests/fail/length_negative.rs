use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(length = -1..=50)] query: &str) -> usize {
    query.len()
}

fn main() {}
