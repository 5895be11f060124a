use toolbox::tool;

/// Searches.
#[tool(name = search_docs)]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
