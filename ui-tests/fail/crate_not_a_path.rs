use toolbox::tool;

/// Searches.
#[tool(crate = "toolbox")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
