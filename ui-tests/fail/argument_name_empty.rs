use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(rename = "")] query: &str) -> String {
    query.to_owned()
}

fn main() {}
