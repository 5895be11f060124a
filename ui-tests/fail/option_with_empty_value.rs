use toolbox::tool;

/// Searches.
#[tool(title =)]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
