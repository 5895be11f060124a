use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(length = 1..=5)] value: Option<f64>) {
    drop(value);
}

fn main() {}
