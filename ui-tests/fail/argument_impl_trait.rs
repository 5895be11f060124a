use toolbox::tool;

/// Searches.
#[tool]
fn search(query: impl ToString) -> String {
    query.to_string()
}

fn main() {}
