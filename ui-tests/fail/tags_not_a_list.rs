use toolbox::tool;

/// Searches.
#[tool(tags = "docs")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
