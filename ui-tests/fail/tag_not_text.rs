use toolbox::tool;

/// Searches.
#[tool(tags("docs", 3))]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
