use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(default = "rust")] query: String) -> String {
    query
}

fn main() {}
