use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(default = "Paris", pattern = "^[a-z]+$")] value: &str) {
    drop(value);
}

fn main() {}
