use toolbox::tool;

/// Searches.
#[tool(colour = "red")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
