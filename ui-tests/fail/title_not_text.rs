use toolbox::tool;

/// Searches.
#[tool(title = 7)]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
