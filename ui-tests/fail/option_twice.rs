use toolbox::tool;

/// Searches.
#[tool(title = "Search", title = "Find")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
