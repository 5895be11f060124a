use toolbox::tool;

/// Searches.
#[tool]
fn search(query: &mut String) -> usize {
    query.len()
}

fn main() {}
