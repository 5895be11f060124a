use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(length = 1..=2)] exact: bool) -> bool {
    exact
}

fn main() {}
