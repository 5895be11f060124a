use toolbox::tool;

/// Searches.
#[tool(desciption = "Searches.")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
