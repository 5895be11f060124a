use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(length = 5..=1)] value: String) {
    drop(value);
}

fn main() {}
