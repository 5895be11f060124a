use toolbox::tool;

/// Searches.
///
/// # Arguments
///
/// * `query` - words to look for
#[tool]
fn search(
    /// Words to look for
    query: &str,
) -> String {
    query.to_owned()
}

fn main() {}
