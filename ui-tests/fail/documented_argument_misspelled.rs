use toolbox::tool;

/// Searches.
///
/// # Arguments
///
/// * `querry` - words to look for
#[tool]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
