use toolbox::tool;

/// Searches.
#[tool(open_world = "no")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
