use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(range = -5..=5)] value: usize) {
    drop(value);
}

fn main() {}
