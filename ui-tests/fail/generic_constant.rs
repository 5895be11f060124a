use toolbox::tool;

/// Searches.
#[tool]
fn search<const N: usize>(query: &str) -> usize {
    query.len() + N
}

fn main() {}
