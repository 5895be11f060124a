use toolbox::{tool, tools};

/// Searches.
#[tool]
fn search() {}

fn main() {
    tools![search()];
}
