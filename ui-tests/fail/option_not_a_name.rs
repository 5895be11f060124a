use toolbox::tool;

/// Searches.
#[tool("search")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
