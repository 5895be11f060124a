use toolbox::tool;

/// Searches.
#[tool(timeout = "0s")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
