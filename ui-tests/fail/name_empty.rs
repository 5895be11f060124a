use toolbox::tool;

/// Searches.
#[tool(name = "")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
