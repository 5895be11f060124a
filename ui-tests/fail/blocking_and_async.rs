use toolbox::tool;

/// Searches.
#[tool(blocking)]
async fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
