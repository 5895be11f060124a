use toolbox::tool;

/// Searches.
#[tool(example(query = "rust"))]
fn search(#[arg(length = ..=3)] query: &str) -> String {
    query.to_owned()
}

fn main() {}
