use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(flatten)] value: String) {
    drop(value);
}

fn main() {}
