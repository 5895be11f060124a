use toolbox::tool;

/// Searches.
#[tool(name = "2nd_search")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
