use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(pattern = [a-z])] query: &str) -> usize {
    query.len()
}

fn main() {}
