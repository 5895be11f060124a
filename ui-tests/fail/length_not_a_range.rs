use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(length = 50)] query: &str) -> usize {
    query.len()
}

fn main() {}
