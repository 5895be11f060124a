use toolbox::tool;

/// Searches.
#[tool(read_only)]
#[tool(idempotent)]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
