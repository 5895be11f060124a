use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(flatten)] value: Vec<String>) {
    drop(value);
}

fn main() {}
