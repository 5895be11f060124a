use toolbox::tool;

/// Searches.
#[tool(name = "search_the_documentation_of_every_crate_that_was_ever_published_at_all")]
fn search(query: &str) -> String {
    query.to_owned()
}

fn main() {}
