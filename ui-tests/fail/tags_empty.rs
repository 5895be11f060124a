use toolbox::tool;

/// Searches.
#[tool(tags())]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
