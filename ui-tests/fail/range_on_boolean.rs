use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(range = 0..=1)] exact: bool) -> bool {
    exact
}

fn main() {}
