use toolbox::tool;

/// Searches.
#[tool(example())]
fn search(query: String) -> String {
    query
}

fn main() {}
