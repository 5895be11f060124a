use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(range = 1..=5)] value: Vec<u32>) {
    drop(value);
}

fn main() {}
