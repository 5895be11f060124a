use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(range = 1..=50)] query: &str) -> usize {
    query.len()
}

fn main() {}
