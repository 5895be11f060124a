use toolbox::tool;

/// Searches.
#[tool(name("search"))]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
