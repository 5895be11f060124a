use toolbox::tool;

/// Searches.
#[tool(type = "SearchTool")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
