use toolbox::tool;

/// Searches.
#[tool(destructive = "no")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
