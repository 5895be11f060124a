use toolbox::tool;

/// Searches.
#[tool]
fn search<T: ToString>(query: T) -> String {
    query.to_string()
}

fn main() {}
