use toolbox::tool;

/// Searches.
#[tool(read_only, destructive)]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
