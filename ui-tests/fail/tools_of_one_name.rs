use toolbox::{tool, tools};

/// Searches.
#[tool]
fn search() {}

/// Finds.
#[tool(name = "search")]
fn find() {}

fn main() {
    tools![search, find];
}
