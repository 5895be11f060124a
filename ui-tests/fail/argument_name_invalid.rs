use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(rename = "search term")] query: &str) -> String {
    query.to_owned()
}

fn main() {}
