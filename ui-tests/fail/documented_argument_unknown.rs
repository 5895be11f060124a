use toolbox::tool;

/// Searches.
///
/// # Arguments
///
/// * `limit` - how many hits to return
#[tool]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
