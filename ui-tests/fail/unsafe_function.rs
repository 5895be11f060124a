use toolbox::tool;

/// Searches.
#[tool]
unsafe fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
