use toolbox::{tool, tools};

/// Searches.
#[tool]
fn search() {}

/// Finds.
#[tool]
fn find() {}

fn main() {
    tools![search; find];
}
