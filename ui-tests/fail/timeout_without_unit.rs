use toolbox::tool;

/// Searches.
#[tool(timeout = "30")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
